# expect: the backward pass from the last to the first
def step_seconds(backward_s, exchange_s):
    ready = free = 0.0
    for compute, wire in zip(backward_s, exchange_s, strict=True):
        ready += compute
        free = max(free, ready) + wire
    return ready + sum(exchange_s), free
