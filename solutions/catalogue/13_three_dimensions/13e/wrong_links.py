# expect: Tensor ranks are inside a node
def step_parts(mesh, layers, micro_batches, chunks, layer_s, activation_bytes, gradient_bytes, bytes_per_s):
    d, p, t = mesh
    ring_s = 2 * (t - 1) / t * activation_bytes / bytes_per_s[1]
    work, tensor = layers / p * layer_s / t, layers / p * 4 * ring_s
    bubble = (p - 1) / chunks * (work + tensor)
    gradients = 2 * (d - 1) / d * gradient_bytes / p / t / bytes_per_s[0]
    return [micro_batches * work, micro_batches * tensor, bubble, gradients]
