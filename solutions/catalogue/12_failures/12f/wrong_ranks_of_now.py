# expect: not that of now
def dealt(order, batch, every, runs, ranks):
    taken = sum(steps // every * every * ranks * batch for former, steps in runs)
    rest = order[taken:]
    return [rest[rank::ranks] for rank in range(ranks)]
