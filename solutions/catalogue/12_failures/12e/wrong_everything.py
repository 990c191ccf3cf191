# expect: its number tells that it is no new one
def received(packets, numbers, window):
    delivered = [payload for _, payload in packets]
    return [delivered, [(number + 1) % numbers for number, _ in packets]]
