# expect: [41, 0.1219512195]
def step_and_bubble(schedule, forward, backward, transfer):
    ends, left = {}, [list(words) for words in schedule]
    free = [0] * len(left)
    while any(left):
        for rank, words in enumerate(left):
            while words:
                kind, i = words[0][0], int(words[0][1])
                begin = free[rank]
                neighbor = rank - 1 if kind == "F" else rank + 1
                if 0 <= neighbor < len(left):
                    if (neighbor, kind, i) not in ends:
                        break
                    begin = max(begin, ends[neighbor, kind, i] + transfer)
                ends[rank, kind, i] = free[rank] = begin + (forward if kind == "F" else backward)
                words.pop(0)
    step = max(free)
    return [step, 1 - len(schedule[0]) / 2 * (forward + backward) / step]
