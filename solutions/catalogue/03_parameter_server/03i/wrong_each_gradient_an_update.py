# expect: Each gradient is an update only if
def softsync_numbers(workers, n, gradients):
    return workers // n, gradients, (workers - 1) / (workers // n)
