# expect: An epoch that has begun goes on
def dealt(order, batch, every, runs, ranks):
    return [order[rank::ranks] for rank in range(ranks)]
