# expect: with you a layer waits for the exchange before it
def step_seconds(backward_s, exchange_s):
    total = backward_s[-1]
    for i in range(len(backward_s) - 2, -1, -1):
        total += max(backward_s[i], exchange_s[i + 1])
    return sum(backward_s) + sum(exchange_s), total + exchange_s[0]
