# expect: That is every micro-batch
def peak_held(schedule):
    return [sum(word[0] == "F" for word in words) for words in schedule]
