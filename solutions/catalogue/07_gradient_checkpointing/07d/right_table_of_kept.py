def kept_operations(operations, budget):
    def between(before, after):
        needed = [i for i in range(before + 1, after) if operations[i][2]]
        return sum(operations[i][1] for i in range(before + 1, needed[-1] + 1)) if needed else 0

    ends = {(-1, 0): (0, [])}  # (last that is kept, bytes kept) -> flops and numbers
    for number in range(len(operations)):
        size = operations[number][0]
        for (last, used), (flops, kept) in list(ends.items()):
            if used + size <= budget:
                option = flops + between(last, number), [*kept, number]
                ends[number, used + size] = min(ends.get((number, used + size), option), option)
    return min((flops + between(last, len(operations)), kept) for (last, _), (flops, kept) in ends.items())[1]
