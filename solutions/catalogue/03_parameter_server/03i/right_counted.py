def softsync_numbers(workers, n, gradients):
    each = 0
    while (each + 1) * n <= workers:
        each += 1
    updates = sum(1 for number in range(1, gradients + 1) if number % each == 0)
    return [each, updates, sum(1 / each for _ in range(workers - 1))]
