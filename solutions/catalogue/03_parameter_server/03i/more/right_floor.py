def softsync_numbers(workers, n, gradients):
    gradients_per_update = workers // n
    return gradients_per_update, gradients // gradients_per_update, (workers - 1) / gradients_per_update
