# expect: one less than ranks
def crossover(work_s, gradient_bytes, bytes_per_s, latency_s):
    n = 2
    while 2 * n * (latency_s + gradient_bytes / n / bytes_per_s) <= work_s / n:
        n += 1
    return n
