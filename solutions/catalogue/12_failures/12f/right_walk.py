def reads(length, saved_by, ranks):
    saved, wanted = (length + saved_by - 1) // saved_by, (length + ranks - 1) // ranks
    plan, at = [], 0
    for _ in range(ranks):
        room, parts = wanted, []
        while room and at < length:
            file, first = at // saved, at % saved
            taken = min(room, saved - first, length - at)
            parts.append([file, first, first + taken])
            room, at = room - taken, at + taken
        plan.append([parts, room])
    return plan
