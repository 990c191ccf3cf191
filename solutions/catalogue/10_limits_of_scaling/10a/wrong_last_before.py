# expect: the last n at which the compute is still longer
def crossover(work_s, gradient_bytes, bytes_per_s, latency_s):
    wire_s = gradient_bytes / bytes_per_s
    ranks = 2
    while 2 * (ranks - 1) * (latency_s + wire_s / ranks) <= work_s / ranks:
        ranks += 1
    return ranks - 1
