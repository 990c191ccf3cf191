# expect: yours run beside each other
def step_seconds(backward_s, exchange_s):
    ends = [sum(backward_s[layer:]) + exchange_s[layer] for layer in range(len(backward_s))]
    return sum(backward_s) + sum(exchange_s), max(ends)
