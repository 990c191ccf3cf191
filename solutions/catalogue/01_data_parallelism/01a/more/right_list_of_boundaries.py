def part(order, rank, world_size):
    begin, end = rank * len(order) // world_size, (rank + 1) * len(order) // world_size
    return [int(number) for number in order[begin:end]]
