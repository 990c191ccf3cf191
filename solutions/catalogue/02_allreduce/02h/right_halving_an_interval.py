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
