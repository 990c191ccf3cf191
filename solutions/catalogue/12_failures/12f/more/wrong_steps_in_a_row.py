# expect: counts its steps from there
def dealt(order, batch, every, runs, ranks):
    taken = done = 0
    for number, steps in runs:
        kept = (done + steps) // every * every - done // every * every
        taken += kept * number * batch
        done += steps
    return [order[taken + rank :: ranks] for rank in range(ranks)]
