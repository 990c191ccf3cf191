# expect: gave nothing (None)
def crossover_bytes(world_size, latency_s, bytes_per_s):
    print(latency_s * bytes_per_s)
