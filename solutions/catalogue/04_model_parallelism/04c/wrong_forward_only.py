# expect: That is the forward pass
def split_bytes(batch, inputs, outputs, world_size):
    share = 4 * (world_size - 1) / world_size
    return [2 * share * outputs * (inputs + 1), share * batch * outputs, 2 * share * batch * outputs]
