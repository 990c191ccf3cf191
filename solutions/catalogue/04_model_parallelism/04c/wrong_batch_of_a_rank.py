# expect: counts the examples of all ranks
def split_bytes(batch, inputs, outputs, world_size):
    share = 4 * (world_size - 1) / world_size
    x, y = batch // world_size * inputs, batch // world_size * outputs
    return [2 * share * outputs * (inputs + 1), share * (y + 2 * x), share * (2 * y + x)]
