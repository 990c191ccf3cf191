# expect: A rank also waits for its neighbors
def first_problem(schedule, micro_batches):
    counts = [[words.count(f"{kind}{i}") for kind in "FB" for i in range(micro_batches)] for words in schedule]
    if any(min(each) == 0 for each in counts):
        return "missing"
    if any(max(each) > 1 for each in counts):
        return "doubled"
    done, left = set(), [list(words) for words in schedule]
    for _ in range(1):
        for rank, words in enumerate(left):
            while words:
                kind, i = parts(words[0])
                needs = []
                if kind == "B":
                    needs.append((rank, f"F{i}"))
                if not all(each in done for each in needs):
                    break
                done.add((rank, words.pop(0)))
    return "deadlock" if any(left) else "ok"
