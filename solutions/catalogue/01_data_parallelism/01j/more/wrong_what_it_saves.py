# expect: that is what overlap saves
def step_seconds(backward_s, exchange_s):
    ready = free = 0.0
    for c, w in zip(reversed(backward_s), reversed(exchange_s), strict=True):
        ready += c
        free = max(free, ready) + w
    return ready + sum(exchange_s), ready + sum(exchange_s) - free
