def step_seconds(backward_s, exchange_s):
    layers = range(len(backward_s))
    paths = [sum(backward_s[layer:]) + sum(exchange_s[: layer + 1]) for layer in layers]
    return [sum(backward_s) + sum(exchange_s), max(paths)]
