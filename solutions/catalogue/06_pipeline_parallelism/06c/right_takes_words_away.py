from graphlib import CycleError, TopologicalSorter


def first_problem(schedule, micro_batches):
    wanted = [f"{kind}{i}" for kind in "FB" for i in range(micro_batches)]
    if not all(word in words for words in schedule for word in wanted):
        return "missing"
    if any(len(words) > len(wanted) for words in schedule):
        return "doubled"
    after, last = TopologicalSorter(), len(schedule) - 1
    for rank, words in enumerate(schedule):
        before = None
        while words:
            word = words.pop(0)
            after.add((rank, word), *([(rank, before)] if before else []))
            before = word
            if word[0] == "B":
                after.add((rank, word), (rank, "F" + word[1:]), *([(rank + 1, word)] if rank < last else []))
            elif rank:
                after.add((rank, word), (rank - 1, word))
    try:
        after.prepare()
    except CycleError:
        return "deadlock"
    return "ok"
