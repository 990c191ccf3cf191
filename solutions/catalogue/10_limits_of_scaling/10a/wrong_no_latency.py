# expect: waits for the latency, too
import math


def crossover(work_s, gradient_bytes, bytes_per_s, latency_s):
    return max(2, math.floor(1 + work_s * bytes_per_s / (2 * gradient_bytes)) + 1)
