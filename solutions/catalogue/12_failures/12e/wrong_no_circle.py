# expect: count on from what you have delivered
def received(packets, numbers, window):
    following, early = 0, {}
    delivered, answers = [], []
    for number, payload in packets:
        if number >= following:
            early[number] = payload
        while following in early:
            delivered.append(early.pop(following))
            following += 1
        answers.append(following)
    return [delivered, answers]
