# expect: first gradients_per_update, then updates
def softsync_numbers(workers, n, gradients):
    c = workers // n
    return gradients // c, c, (workers - 1) / c
