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
