# expect: Do not round a mean
# like: wrong_mean_is_n
def softsync_numbers(workers, n, gradients):
    c = workers // n
    return c, gradients // c, (workers - 1) // c
