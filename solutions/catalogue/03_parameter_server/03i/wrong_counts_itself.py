# expect: A worker does not overtake itself
def softsync_numbers(workers, n, gradients):
    return workers // n, gradients // (workers // n), workers / (workers // n)
