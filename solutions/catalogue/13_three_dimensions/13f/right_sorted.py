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
