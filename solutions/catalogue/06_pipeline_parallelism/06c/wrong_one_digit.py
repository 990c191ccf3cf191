# expect: may have two digits
def first_problem(schedule, micro_batches):
    if any(len(set(words)) < 2 * micro_batches for words in schedule):
        return "missing"
    if any(len(words) > 2 * micro_batches for words in schedule):
        return "doubled"
    done, left, stages = set(), [list(words) for words in schedule], len(schedule)
    for _ in range(2 * stages * micro_batches):
        for rank, words in enumerate(left):
            while words:
                kind, i = words[0][0], words[0][1]
                needs = [(rank, "F", i)] if kind == "B" else []
                if kind == "F" and rank > 0:
                    needs.append((rank - 1, "F", i))
                if kind == "B" and rank < stages - 1:
                    needs.append((rank + 1, "B", i))
                if not all(each in done for each in needs):
                    break
                done.add((rank, kind, i))
                words.pop(0)
    return "deadlock" if any(left) else "ok"
