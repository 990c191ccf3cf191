def dealt(order, batch, every, runs, ranks):
    rest = list(order)
    for former, steps in runs:
        for step in range(1, steps + 1):
            if step % every == 0:
                del rest[: every * former * batch]
    hands = [[] for _ in range(ranks)]
    for place, example in enumerate(rest):
        hands[place % ranks].append(example)
    return hands
