# expect: but was in an earlier call's
# like: wrong_counts_from_one
def part(order, rank, world_size, mine=[]):  # noqa: B006
    for i in range(rank, len(order), world_size):
        mine.append(order[i])
    return mine
