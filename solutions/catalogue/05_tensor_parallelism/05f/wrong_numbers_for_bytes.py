# expect: Four bytes a number
def block_traffic(tokens, width, tensor, data, sequence_cut):
    pairs = 4 * (tensor > 1)
    activations = pairs * 2 * (tensor - 1) / tensor * tokens * width
    gradients = 2 * (data - 1) / data * 12 * width**2 / tensor
    return [
        pairs * (not sequence_cut) + (data > 1),
        pairs * sequence_cut,
        pairs * sequence_cut,
        activations + gradients,
    ]
