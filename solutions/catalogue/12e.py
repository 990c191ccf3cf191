# %% right: slots
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


# %% right: unrolled
def received(packets, numbers, window):
    messages, count, answers = {}, 0, []
    for number, payload in packets:
        for place in range(count, count + window):
            if place % numbers == number:
                messages[place] = payload
        while count in messages:
            count += 1
        answers.append(count % numbers)
    return [[messages[place] for place in range(count)], answers]


# %% wrong: one_early
def received(packets, numbers, window):
    following, early = 0, {}
    delivered, acknowledgments = [], []
    for number, payload in packets:
        if number == following:
            delivered.append(payload)
            following = (following + 1) % numbers
            if following in early:
                delivered.append(early.pop(following))
                following = (following + 1) % numbers
        elif (number - following) % numbers < window:
            early[number] = payload
        acknowledgments.append(following)
    return [delivered, acknowledgments]
