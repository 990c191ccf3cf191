# expect: and add none for the rest
# like: wrong_part_of_an_update
def softsync_numbers(workers, n, gradients):
    c = workers // n
    return c, gradients // c + 1, (workers - 1) / c
