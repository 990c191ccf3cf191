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
