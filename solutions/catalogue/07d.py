# %% right: best_of_each_state
def kept_operations(operations, budget):
    """From the front: of all choices with one number of bytes and one cost still open, the cheapest goes on."""
    states = {(0, 0): (0, ())}  # (bytes, flops since what was kept last or needed) -> flops for certain, numbers
    for number, (size, flops, needed) in enumerate(operations):
        after = {}
        for (used, still_open), (certain, kept) in states.items():
            dropped = still_open + flops
            options = [((used, 0), (certain + dropped, kept)) if needed else ((used, dropped), (certain, kept))]
            if used + size <= budget:
                options.append(((used + size, 0), (certain, (*kept, number))))
            for state, option in options:
                after[state] = min(after.get(state, option), option)
        states = after
    return min(states.values())[1]


# %% right: class_with_memo
class Policy:
    def __init__(self, operations):
        self.operations = operations
        self.known = {}

    def flops(self, number, room, asked):
        """The fewest for the operations 0 to number."""
        if number < 0:
            return 0
        if (number, room, asked) not in self.known:
            self.known[number, room, asked] = min(cost for cost, _ in self.choices(number, room, asked))
        return self.known[number, room, asked]

    def choices(self, number, room, asked):
        size, own, needed = self.operations[number]
        runs = asked or needed
        yield self.flops(number - 1, room, runs) + (own if runs else 0), False
        if size <= room:
            yield self.flops(number - 1, room - size, False), True


def kept_operations(operations, budget):
    policy, kept, asked = Policy(operations), set(), False
    for number in range(len(operations) - 1, -1, -1):
        _, keeps = min(policy.choices(number, budget, asked))
        asked = not keeps and (asked or operations[number][2])
        if keeps:
            kept.add(number)
            budget -= operations[number][0]
    return sorted(kept)


# %% right: table_of_kept
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


# %% wrong: most_flops_a_byte
def kept_operations(operations, budget):
    kept = []
    for number in sorted(range(len(operations)), key=lambda i: operations[i][1] / operations[i][0], reverse=True):
        size, _, needed = operations[number]
        if needed and size <= budget:
            kept.append(number)
            budget -= size
    return sorted(kept)
