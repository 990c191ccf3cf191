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
