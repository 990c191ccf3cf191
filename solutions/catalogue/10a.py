# %% right: formula
import math


def crossover(work_s, gradient_bytes, bytes_per_s, latency_s):
    # n (n - 1) alpha + (n - 1) wire = work / 2, a square equation
    wire_s = gradient_bytes / bytes_per_s
    a, b, c = latency_s, wire_s - latency_s, -wire_s - work_s / 2
    root = -c / b if a == 0 else (-b + math.sqrt(b * b - 4 * a * c)) / (2 * a)
    return max(2, math.floor(root) + 1)


# %% right: halving
def crossover(work_s, gradient_bytes, bytes_per_s, latency_s):
    def longer(n):
        return n * 2 * (n - 1) * latency_s + 2 * (n - 1) * gradient_bytes / bytes_per_s > work_s

    low, high = 1, 2
    while not longer(high):
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if longer(middle) else (middle, high)
    return high
