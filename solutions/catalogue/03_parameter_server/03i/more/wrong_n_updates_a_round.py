# expect: n updates come of c * n gradients
def softsync_numbers(workers, n, gradients):
    return workers // n, gradients * n // workers, (workers - 1) / (workers // n)
