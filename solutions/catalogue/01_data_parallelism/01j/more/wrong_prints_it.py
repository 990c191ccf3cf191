# expect: gave nothing (None) where 2 values
def step_seconds(backward_s, exchange_s):
    ready = free = 0.0
    for c, w in zip(reversed(backward_s), reversed(exchange_s), strict=True):
        ready += c
        free = max(free, ready) + w
    print(ready + sum(exchange_s), free)
