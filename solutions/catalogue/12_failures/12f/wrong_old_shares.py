# expect: The old shares of ranks that are gone
def dealt(order, batch, every, runs, ranks):
    former, steps = runs[-1] if runs else (ranks, 0)
    return [order[rank::former][steps // every * every * batch :] for rank in range(ranks)]
