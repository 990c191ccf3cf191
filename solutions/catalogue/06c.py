# %% right: cycle_search
def first_problem(schedule, micro_batches):
    number = 2 * micro_batches
    if any(len(set(words)) < number for words in schedule):
        return "missing"
    if any(len(words) > number for words in schedule):
        return "doubled"
    before = {}
    for rank, words in enumerate(schedule):
        for place, word in enumerate(words):
            needs = [(rank, words[place - 1])] if place else []
            if word[0] == "F" and rank:
                needs.append((rank - 1, word))
            if word[0] == "B":
                needs.append((rank, "F" + word[1:]))
                if rank + 1 < len(schedule):
                    needs.append((rank + 1, word))
            before[rank, word] = needs
    while before:
        ready = [each for each, needs in before.items() if not any(need in before for need in needs)]
        if not ready:
            return "deadlock"
        for each in ready:
            del before[each]
    return "ok"


# %% right: played
def first_problem(schedule, micro_batches):
    counts = [[words.count(f"{kind}{i}") for kind in "FB" for i in range(micro_batches)] for words in schedule]
    if any(min(each) == 0 for each in counts):
        return "missing"
    if any(max(each) > 1 for each in counts):
        return "doubled"
    done, left, stages = set(), [list(words) for words in schedule], len(schedule)
    for _ in range(2 * stages * micro_batches):
        for rank, words in enumerate(left):
            while words:
                kind, i = parts(words[0])
                needs = []
                if kind == "F" and rank > 0:
                    needs.append((rank - 1, f"F{i}"))
                if kind == "B" and rank < stages - 1:
                    needs.append((rank + 1, f"B{i}"))
                if kind == "B":
                    needs.append((rank, f"F{i}"))
                if not all(each in done for each in needs):
                    break
                done.add((rank, words.pop(0)))
    return "deadlock" if any(left) else "ok"


# %% right: takes_words_away
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
