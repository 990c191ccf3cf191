def crossover_bytes(world_size, latency_s, bytes_per_s):
    levels, p = (world_size - 1).bit_length(), world_size
    alpha, beta = latency_s, 1 / bytes_per_s
    return alpha / beta * (p - 1 - levels) / (levels - (p - 1) / p)
