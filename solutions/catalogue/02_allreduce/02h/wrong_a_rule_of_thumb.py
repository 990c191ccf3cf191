# expect: what a link could have sent while one message waits
def crossover_bytes(world_size, latency_s, bytes_per_s):
    return latency_s * bytes_per_s
