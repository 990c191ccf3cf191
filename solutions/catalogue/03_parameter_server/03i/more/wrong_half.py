# expect: Half of it would be right
def softsync_numbers(workers, n, gradients):
    return workers // n, gradients // (workers // n), (workers - 1) / (workers // n) / 2
