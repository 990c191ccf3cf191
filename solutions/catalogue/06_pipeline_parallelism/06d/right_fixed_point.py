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
