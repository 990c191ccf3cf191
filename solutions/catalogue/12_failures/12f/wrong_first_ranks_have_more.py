def reads(length, saved_by, ranks):
    def cuts(parts):
        sizes = [length // parts + (part < length % parts) for part in range(parts)]
        return [(sum(sizes[:part]), sum(sizes[: part + 1])) for part in range(parts)]

    plan = []
    for begin, end in cuts(ranks):
        parts = []
        for file, (low, high) in enumerate(cuts(saved_by)):
            first, stop = max(begin, low), min(end, high)
            if first < stop:
                parts.append([file, first - low, stop - low])
        plan.append([parts, -(-length // ranks) - (end - begin)])
    return plan
