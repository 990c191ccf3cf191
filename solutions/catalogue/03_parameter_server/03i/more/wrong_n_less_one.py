# expect: Close: count how many pushes
def softsync_numbers(workers, n, gradients):
    c = workers // n
    return c, gradients // c, n - 1
