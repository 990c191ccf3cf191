# expect: may have two digits
def step_and_bubble(schedule, forward, backward, transfer):
    ends, places, free = {}, [0] * len(schedule), [0] * len(schedule)
    while any(place < len(words) for place, words in zip(places, schedule, strict=True)):
        for rank, words in enumerate(schedule):
            if places[rank] == len(words):
                continue
            kind, i = words[places[rank]]
            neighbor = rank - 1 if kind == "F" else rank + 1
            if 0 <= neighbor < len(schedule):
                if (kind, neighbor, i) not in ends:
                    continue
                free[rank] = max(free[rank], ends[kind, neighbor, i] + transfer)
            free[rank] += forward if kind == "F" else backward
            ends[kind, rank, i] = free[rank]
            places[rank] += 1
    return [max(free), 1 - len(schedule[0]) / 2 * (forward + backward) / max(free)]
