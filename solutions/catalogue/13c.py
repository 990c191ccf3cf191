# %% right: ifs
def rank_memory(model, mesh, stage, micro_batch, micro_batches, zero):
    layers, hidden, heads, sequence = model
    data, pipeline, tensor = mesh
    own_layers = layers // pipeline
    parameters = own_layers * 12 * hidden**2 / tensor
    weights, gradients, optimizer = 2 * parameters, 2 * parameters, 12 * parameters
    if zero >= 1:
        optimizer /= data
    if zero >= 2:
        gradients /= data
    if zero == 3:
        weights /= data
    per_layer = 34 * sequence * micro_batch * hidden + 5 * heads * sequence**2 * micro_batch
    under_way = pipeline - stage if pipeline - stage < micro_batches else micro_batches
    return weights, gradients, optimizer, under_way * own_layers * per_layer / tensor


# %% right: played
def rank_memory(model, mesh, stage, micro_batch, micro_batches, zero):
    (layers, h, a, s), (d, p, t) = model, mesh
    held = most = done = 0
    forwards = 0
    while done < micro_batches:
        if forwards < micro_batches and forwards - done < p - stage:
            forwards += 1
        else:
            done += 1
        most = max(most, forwards - done)
    kept = torch.tensor([2.0, 2.0, 12.0], dtype=torch.float64) * 12 * h * h * layers / (p * t)
    for level, place in ((1, 2), (2, 1), (3, 0)):
        if zero >= level:
            kept[place] /= d
    held = most * (layers / p) * s * micro_batch * h / t * (34 + 5 * a * s / h)
    return [*kept.tolist(), held]
