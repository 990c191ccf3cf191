# expect: A ring of n ranks sends 2 (n - 1) / n of the bytes
def step_parts(mesh, layers, micro_batches, chunks, layer_s, activation_bytes, gradient_bytes, bytes_per_s):
    _d, p, t = mesh
    ring_s = activation_bytes / bytes_per_s[0]
    work, tensor = layers / p * layer_s / t, layers / p * 4 * ring_s
    bubble = (p - 1) / chunks * (work + tensor)
    gradients = gradient_bytes / p / t / bytes_per_s[1]
    return [micro_batches * work, micro_batches * tensor, bubble, gradients]
