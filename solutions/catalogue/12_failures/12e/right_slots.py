def received(packets, numbers, window):
    slots, following = [None] * numbers, 0
    delivered, answers = [], []
    for number, payload in packets:
        ahead = number - following if number >= following else number - following + numbers
        if ahead < window:
            slots[number] = [payload]
        while slots[following] is not None:
            delivered += slots[following]
            slots[following] = None
            following = 0 if following == numbers - 1 else following + 1
        answers.append(following)
    return delivered, answers
