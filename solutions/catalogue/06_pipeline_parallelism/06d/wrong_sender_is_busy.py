# expect: A transfer keeps nobody busy
def step_and_bubble(schedule, forward, backward, transfer):
    ends, left = {}, [list(words) for words in schedule]
    free, last = [0] * len(left), len(left) - 1
    while any(left):
        for rank, words in enumerate(left):
            while words:
                kind, i = parts(words[0])
                begin = free[rank]
                neighbor = rank - 1 if kind == "F" else rank + 1
                if 0 <= neighbor <= last:
                    if (neighbor, words[0]) not in ends:
                        break
                    begin = max(begin, ends[neighbor, words[0]])
                ends[rank, words.pop(0)] = free[rank] = begin + (forward if kind == "F" else backward)
                if rank != (last if kind == "F" else 0):
                    free[rank] += transfer
                    ends[rank, f"{kind}{i}"] = free[rank]
    step = max(free)
    return [step, 1 - len(schedule[0]) / 2 * (forward + backward) / step]
