# expect: gave str where 20 is right
def step_seconds(backward_s, exchange_s):
    ready = free = 0
    for c, w in zip(reversed(backward_s), reversed(exchange_s), strict=True):
        ready += int(c)
        free = max(free, ready) + int(w)
    return str(ready + sum(exchange_s)), str(free)
