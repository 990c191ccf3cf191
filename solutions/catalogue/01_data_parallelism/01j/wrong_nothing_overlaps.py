# expect: nothing overlaps in that
def step_seconds(backward_s, exchange_s):
    seconds = sum(backward_s) + sum(exchange_s)
    return seconds, seconds
