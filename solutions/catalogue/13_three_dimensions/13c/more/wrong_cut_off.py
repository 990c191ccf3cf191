# expect: 5 a s / h need not be whole
def rank_memory(model, mesh, stage, micro_batch, micro_batches, zero):
    layers, h, a, s = model
    d, p, t = mesh
    parameters = layers // p * 12 * h * h / t
    shards = [d if zero >= level else 1 for level in (3, 2, 1)]
    states = [count * parameters / parts for count, parts in zip((2, 2, 12), shards, strict=True)]
    layer = s * micro_batch * h * (34 + 5 * a * s // h) / t
    return [*states, min(p - stage, micro_batches) * layers // p * layer]
