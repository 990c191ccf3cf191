# expect: first without overlap, then with it
def step_seconds(backward_s, exchange_s):
    ready = free = 0
    for backward, exchange in zip(reversed(backward_s), reversed(exchange_s), strict=True):
        ready += backward
        free = max(free, ready) + exchange
    return free, sum(backward_s) + sum(exchange_s)
