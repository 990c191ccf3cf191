# expect: layer 0 is missing
def step_seconds(backward_s, exchange_s):
    ready = free = 0.0
    for i in range(len(backward_s) - 1, 0, -1):
        ready += backward_s[i]
        free = max(free, ready) + exchange_s[i]
    return sum(backward_s) + sum(exchange_s), free
