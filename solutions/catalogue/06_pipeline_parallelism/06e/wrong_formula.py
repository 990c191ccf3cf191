# expect: That is 1F1B's formula
def peak_held(schedule):
    stages = len(schedule)
    micro_batches = sum(word[0] == "F" for word in schedule[0])
    return [min(stages - rank, micro_batches) for rank in range(stages)]
