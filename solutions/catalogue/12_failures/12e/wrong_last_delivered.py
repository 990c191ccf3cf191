# expect: one more than the last delivered
def received(packets, numbers, window):
    following, early = 0, {}
    delivered, answers = [], []
    for number, payload in packets:
        if (number - following) % numbers < window:
            early[number] = payload
        while following in early:
            delivered.append(early.pop(following))
            following = (following + 1) % numbers
        answers.append((following - 1) % numbers)
    return [delivered, answers]
