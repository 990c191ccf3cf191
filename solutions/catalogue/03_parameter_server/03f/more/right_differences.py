def shard_by_size(lengths, servers):
    """Karmarkar and Karp: of the two most uneven plans, lay the fullest shard of one to the emptiest of the other."""
    plans = [[(length, [number])] + [(0, [])] * (servers - 1) for number, length in enumerate(lengths)]
    while len(plans) > 1:
        plans.sort(key=lambda plan: plan[0][0] - plan[-1][0])
        one, other = plans.pop(), plans.pop()
        both = [(a + b, x + y) for (a, x), (b, y) in zip(one, reversed(other), strict=True)]
        plans.append(sorted(both, key=lambda shard: -shard[0]))
    return [shard for _, shard in plans[0]]
