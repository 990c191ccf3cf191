# expect: is lost with the weights
def dealt(order, batch, every, runs, ranks):
    taken = sum(steps * former * batch for former, steps in runs)
    rest = order[taken:]
    return [rest[rank::ranks] for rank in range(ranks)]
