def softsync_numbers(workers, n, gradients):
    c = int(workers / n)
    updates = held = 0
    for _ in range(gradients):
        held += 1
        if held == c:
            updates, held = updates + 1, 0
    return [c, updates, sum(1 / c for _ in range(workers - 1))]
