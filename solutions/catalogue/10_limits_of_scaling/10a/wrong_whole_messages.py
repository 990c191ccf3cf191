# expect: carries a chunk
def crossover(work_s, gradient_bytes, bytes_per_s, latency_s):
    wire_s = gradient_bytes / bytes_per_s
    ranks = 2
    while 2 * (ranks - 1) * (latency_s + wire_s) <= work_s / ranks:
        ranks += 1
    return ranks
