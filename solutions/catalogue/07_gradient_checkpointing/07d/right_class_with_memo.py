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
