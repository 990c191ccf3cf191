# %% right: best_so_far
def divisors(number):
    return [each for each in range(1, number + 1) if number % each == 0]


def fastest_plan(gpus, node, layers, batch, parameters, activations, max_bytes):
    best, least = [], float("inf")
    for t in divisors(node):
        for p in divisors(layers):
            d, rest = divmod(gpus, p * t)
            if rest or d == 0 or batch % d:
                continue
            for b in reversed(divisors(batch // d)):
                if needed_bytes(parameters, activations, (d, p, t), b) > max_bytes:
                    continue
                slow = slowness((d, p, t), b, batch // d // b)
                if slow < least:
                    best, least = (d, p, t, b), slow
    return best


# %% right: sorted
def fastest_plan(gpus, node, layers, batch, parameters, activations, max_bytes):
    plans = [
        ([gpus // (p * t), p, t], b)
        for t in range(1, node + 1)
        for p in range(1, layers + 1)
        for b in range(batch, 0, -1)
        if node % t == layers % p == gpus % (p * t) == 0 and batch % (gpus // (p * t) * b) == 0
    ]
    fitting = [each for each in plans if needed_bytes(parameters, activations, *each) <= max_bytes]
    fitting.sort(key=lambda each: slowness(*each, batch // (each[0][0] * each[1])))
    return fitting[0][0] + [fitting[0][1]] if fitting else []
