# expect: a clock of yours lives on
free = 0.0


def step_seconds(backward_s, exchange_s):
    global free
    ready = 0.0
    for c, w in zip(reversed(backward_s), reversed(exchange_s), strict=True):
        ready += c
        free = max(free, ready) + w
    return ready + sum(exchange_s), free
