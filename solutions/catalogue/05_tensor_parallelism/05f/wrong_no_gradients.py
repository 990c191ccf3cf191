# expect: The replicas sum the gradients
def block_traffic(tokens, width, tensor, data, sequence_cut):
    pairs = 4 * (tensor > 1)
    activations = pairs * 2 * (tensor - 1) / tensor * tokens * width
    gradients = 0
    return [pairs * (not sequence_cut), pairs * sequence_cut, pairs * sequence_cut, 4 * (activations + gradients)]
