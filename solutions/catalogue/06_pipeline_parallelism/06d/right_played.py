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
