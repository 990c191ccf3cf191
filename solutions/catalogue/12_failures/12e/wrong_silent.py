# expect: its first acknowledgment may be lost
def received(packets, numbers, window):
    following, early = 0, {}
    delivered, answers = [], []
    for number, payload in packets:
        if (number - following) % numbers >= window:
            continue
        early[number] = payload
        while following in early:
            delivered.append(early.pop(following))
            following = (following + 1) % numbers
        answers.append(following)
    return [delivered, answers]
