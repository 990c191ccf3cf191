# expect: three numbers are asked for
def softsync_numbers(workers, n, gradients):
    return workers // n, (workers - 1) / (workers // n)
