# expect: Tensor ranks share each layer's parameters
def rank_memory(model, mesh, stage, micro_batch, micro_batches, zero):
    (layers, h, a, s), (d, p, t) = model, mesh
    own = 12 * h**2 * layers / p
    shards = [d if zero >= level else 1 for level in (3, 2, 1)]
    kept = [size * own / parts for size, parts in zip((2, 2, 12), shards, strict=True)]
    layer = s * micro_batch * h * (34 + 5 * a * s / h) / t
    return [*kept, min(p - stage, micro_batches) * layers / p * layer]
