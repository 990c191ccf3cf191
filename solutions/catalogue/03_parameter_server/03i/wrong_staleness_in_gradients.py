# expect: Staleness counts updates, not gradients
def softsync_numbers(workers, n, gradients):
    return workers // n, gradients // (workers // n), workers - 1
