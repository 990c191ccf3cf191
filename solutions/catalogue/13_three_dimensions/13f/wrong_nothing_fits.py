# expect: Where no plan fits, return []. fastest_plan(
def fastest_plan(gpus, node, layers, batch, parameters, activations, most_bytes):
    found = []
    for t in range(1, node + 1):
        for p in range(1, layers + 1):
            if node % t or layers % p or gpus % (p * t):
                continue
            d = gpus // (p * t)
            for b in range(1, batch // d + 1):
                fits = needed_bytes(parameters, activations, [d, p, t], b) <= most_bytes
                if batch % (d * b) == 0 and fits:
                    found.append((slowness([d, p, t], b, batch // (d * b)), t, p, -b, d))
    _, t, p, b, d = min(found)
    return [d, p, t, -b]
