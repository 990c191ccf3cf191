# expect: not in blocks
def dealt(order, batch, every, runs, ranks):
    taken = sum(steps // every * every * former * batch for former, steps in runs)
    rest = order[taken:]
    return [rest[rank * -(-len(rest) // ranks) :][: -(-len(rest) // ranks)] for rank in range(ranks)]
