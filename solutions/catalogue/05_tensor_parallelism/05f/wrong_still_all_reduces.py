# expect: each is a reduce-scatter
def block_traffic(tokens, width, tensor, data, sequence_cut):
    pairs = 4 * (tensor > 1)
    activations = pairs * 2 * (tensor - 1) / tensor * tokens * width
    gradients = 2 * (data - 1) / data * 12 * width**2 / tensor
    return [pairs + (data > 1), 0, 0, 4 * (activations + gradients)]
