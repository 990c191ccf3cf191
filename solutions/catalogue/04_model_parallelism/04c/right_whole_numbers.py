def all_reduce_bytes(numbers, world_size):
    return 2 * (world_size - 1) * (numbers * 4 // world_size)


def split_bytes(batch, inputs, outputs, world_size):
    y, x = all_reduce_bytes(batch * outputs, world_size), all_reduce_bytes(batch * inputs, world_size)
    weights = all_reduce_bytes(outputs * inputs, world_size) + all_reduce_bytes(outputs, world_size)
    return weights, y // 2 + x, y + x // 2
