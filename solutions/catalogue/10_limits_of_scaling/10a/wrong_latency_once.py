# expect: in every step of the ring, not once
def crossover(work_s, gradient_bytes, bytes_per_s, latency_s):
    wire_s = gradient_bytes / bytes_per_s
    ranks = 2
    while latency_s + 2 * (ranks - 1) / ranks * wire_s <= work_s / ranks:
        ranks += 1
    return ranks
