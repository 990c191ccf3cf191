# %% right: dictionary
def step_parts(mesh, layers, micro_batches, chunks, layer_s, activation_bytes, gradient_bytes, bytes_per_s):
    d, p, t = mesh
    each = torch.tensor([layer_s / t, 0.0], dtype=torch.float64)
    for _ in range(4):
        each[1] += 2 * (t - 1) / t * activation_bytes / bytes_per_s[0]
    stage = each * layers / p
    step = stage * (micro_batches + (p - 1) / chunks)
    bubble = step.sum() - micro_batches * stage.sum()
    last = 2 * (d - 1) / d * (gradient_bytes / p / t) / bytes_per_s[1]
    return torch.cat([micro_batches * stage, torch.stack([bubble, torch.tensor(last, dtype=torch.float64)])])


# %% right: micro_batch
def ring_s(ranks, size, rate):
    return 2 * (ranks - 1) * size / ranks / rate


def step_parts(mesh, layers, micro_batches, chunks, layer_s, activation_bytes, gradient_bytes, bytes_per_s):
    data, pipeline, tensor = mesh
    inside, outside = bytes_per_s
    own = layers // pipeline
    work = own * layer_s / tensor
    messages = 4 * own * ring_s(tensor, activation_bytes, inside)
    bubble = (pipeline - 1) * (work + messages) / chunks
    own_bytes = gradient_bytes / (pipeline * tensor)
    return (work * micro_batches, messages * micro_batches, bubble, ring_s(data, own_bytes, outside))
