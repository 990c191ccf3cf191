# %% right: bit_length
def crossover_bytes(world_size, latency_s, bytes_per_s):
    levels, p = (world_size - 1).bit_length(), world_size
    alpha, beta = latency_s, 1 / bytes_per_s
    return alpha / beta * (p - 1 - levels) / (levels - (p - 1) / p)


# %% right: halving_an_interval
from math import ceil, log2


def crossover_bytes(world_size, latency_s, bytes_per_s):
    def ring(n):
        return 2 * (world_size - 1) * (latency_s + n / world_size / bytes_per_s)

    def tree(n):
        return 2 * ceil(log2(world_size)) * (latency_s + n / bytes_per_s)

    low, high = 0.0, 1e15
    for _ in range(200):
        middle = (low + high) / 2
        if ring(middle) > tree(middle):
            low = middle
        else:
            high = middle
    return high
