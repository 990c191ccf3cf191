# expect: That is the rule of thumb
def softsync_numbers(workers, n, gradients):
    return workers // n, gradients // (workers // n), n
