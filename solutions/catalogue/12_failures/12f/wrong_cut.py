# expect: None may be left out
def dealt(order, batch, every, runs, ranks):
    taken = sum(steps // every * every * former * batch for former, steps in runs)
    rest = order[taken:]
    return [rest[: len(rest) // ranks * ranks][rank::ranks] for rank in range(ranks)]
