# %% right: formulas
def split_bytes(batch, inputs, outputs, world_size):
    share = 4 * (world_size - 1) / world_size
    weights, x, y = outputs * (inputs + 1), batch * inputs, batch * outputs
    return [2 * share * weights, share * (y + x), share * (y + x)]


# %% right: whole_numbers
def all_reduce_bytes(numbers, world_size):
    return 2 * (world_size - 1) * (numbers * 4 // world_size)


def split_bytes(batch, inputs, outputs, world_size):
    y, x = all_reduce_bytes(batch * outputs, world_size), all_reduce_bytes(batch * inputs, world_size)
    weights = all_reduce_bytes(outputs * inputs, world_size) + all_reduce_bytes(outputs, world_size)
    return weights, y // 2 + x, y + x // 2
