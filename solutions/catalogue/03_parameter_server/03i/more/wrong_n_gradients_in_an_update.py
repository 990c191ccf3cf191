# expect: not how many gradients are in one
def softsync_numbers(workers, n, gradients):
    return n, gradients // n, (workers - 1) / n
