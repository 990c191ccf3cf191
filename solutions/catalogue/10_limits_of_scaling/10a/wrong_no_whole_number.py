# expect: There is no part of a rank
def crossover(work_s, gradient_bytes, bytes_per_s, latency_s):
    return 1 + work_s * bytes_per_s / (2 * gradient_bytes)
