# expect: B needs F of the same stage, too
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
                if not all(each in done for each in needs):
                    break
                done.add((rank, words.pop(0)))
    return "deadlock" if any(left) else "ok"
