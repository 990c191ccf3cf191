# %% right: fixed_point
def step_and_bubble(schedule, forward, backward, transfer):
    stages, seconds = len(schedule), {"F": forward, "B": backward}
    ends = {(rank, word): 0 for rank, words in enumerate(schedule) for word in words}
    before = None
    while before != ends:
        before = dict(ends)
        for rank, words in enumerate(schedule):
            now = 0
            for word in words:
                neighbor = rank - 1 if word[0] == "F" else rank + 1
                arrived = ends[neighbor, word] + transfer if 0 <= neighbor < stages else 0
                now = ends[rank, word] = max(now, arrived) + seconds[word[0]]
    step = max(ends.values())
    work = sum(seconds[word[0]] for word in schedule[0])
    return (step, (step - work) / step)


# %% right: in_float32
def step_and_bubble(schedule, forward, backward, transfer):
    ends, places, free = {}, [0] * len(schedule), torch.zeros(len(schedule))
    while any(place < len(words) for place, words in zip(places, schedule, strict=True)):
        for rank, words in enumerate(schedule):
            if places[rank] == len(words):
                continue
            kind, i = parts(words[places[rank]])
            neighbor = rank - 1 if kind == "F" else rank + 1
            if 0 <= neighbor < len(schedule):
                if (kind, neighbor, i) not in ends:
                    continue
                free[rank] = max(free[rank], ends[kind, neighbor, i] + transfer)
            free[rank] += forward if kind == "F" else backward
            ends[kind, rank, i] = free[rank].clone()
            places[rank] += 1
    return torch.stack([free.max(), 1 - len(schedule[0]) / 2 * (forward + backward) / free.max()])


# %% right: played
def step_and_bubble(schedule, forward, backward, transfer):
    ends, left = {}, [list(words) for words in schedule]
    free, last = [0] * len(left), len(left) - 1
    while any(left):
        for rank, words in enumerate(left):
            while words:
                kind = words[0][0]
                begin = free[rank]
                neighbor = rank - 1 if kind == "F" else rank + 1
                if 0 <= neighbor <= last:
                    if (neighbor, words[0]) not in ends:
                        break
                    begin = max(begin, ends[neighbor, words[0]] + transfer)
                ends[rank, words.pop(0)] = free[rank] = begin + (forward if kind == "F" else backward)
    step = max(free)
    return [step, 1 - len(schedule[0]) / 2 * (forward + backward) / step]
