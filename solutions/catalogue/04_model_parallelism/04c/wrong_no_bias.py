# expect: The bias has a gradient, too
def split_bytes(batch, inputs, outputs, world_size):
    share = 4 * (world_size - 1) / world_size
    x, y = batch * inputs, batch * outputs
    return [2 * share * outputs * inputs, share * (y + 2 * x), share * (2 * y + x)]
