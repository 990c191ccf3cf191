# expect: a later rank may miss something
def first_problem(schedule, micro_batches):
    for words in schedule:
        if len(set(words)) < 2 * micro_batches:
            return "missing"
        if len(words) > 2 * micro_batches:
            return "doubled"
    done, left = set(), [list(words) for words in schedule]
    moved = True
    while moved:
        moved = False
        for rank, words in enumerate(left):
            while words:
                kind, i = parts(words[0])
                needs = [(rank - 1, words[0])] if kind == "F" else [(rank, f"F{i}"), (rank + 1, words[0])]
                if not all(each in done for each in needs if 0 <= each[0] < len(schedule)):
                    break
                done.add((rank, words.pop(0)))
                moved = True
    return "deadlock" if any(left) else "ok"
