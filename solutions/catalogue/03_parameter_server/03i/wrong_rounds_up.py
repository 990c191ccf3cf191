# expect: Round down, not up
def softsync_numbers(workers, n, gradients):
    return -(-workers // n), gradients // -(-workers // n), (workers - 1) / -(-workers // n)
