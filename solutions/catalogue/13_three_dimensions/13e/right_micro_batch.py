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
