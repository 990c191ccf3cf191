# expect: returns two numbers
def step_seconds(backward_s, exchange_s):
    ready = free = 0.0
    for compute, wire in zip(reversed(backward_s), reversed(exchange_s), strict=True):
        ready += compute
        free = max(free, ready) + wire
    return [free]
