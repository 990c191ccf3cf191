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
