# expect: Each example once
def dealt(order, batch, every, runs, ranks):
    taken = sum(steps // every * every * former * batch for former, steps in runs)
    rest = order[taken:]
    return [(rest + rest[: -len(rest) % ranks])[rank::ranks] for rank in range(ranks)]
