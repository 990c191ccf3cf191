# expect: The backward pass has as many
def block_traffic(tokens, width, tensor, data, sequence_cut):
    pairs = 2 * (tensor > 1)
    activations = pairs * 2 * (tensor - 1) / tensor * tokens * width
    gradients = 2 * (data - 1) / data * 12 * width**2 / tensor
    return [
        pairs * (not sequence_cut) + (data > 1),
        pairs * sequence_cut,
        pairs * sequence_cut,
        4 * (activations + gradients),
    ]
