# expect: Micro-batches may go in any order
def first_problem(schedule, micro_batches):
    counts = [words.count(f"{kind}{i}") for words in schedule for kind in "FB" for i in range(micro_batches)]
    if min(counts) == 0:
        return "missing"
    if max(counts) > 1:
        return "doubled"
    for words in schedule:
        for kind in "FB":
            numbers = [parts(word)[1] for word in words if word[0] == kind]
            if numbers != sorted(numbers):
                return "deadlock"
    left, moved = [list(words) for words in schedule], True
    done = set()
    while moved:
        moved = False
        for rank, words in enumerate(left):
            while words:
                kind, number = parts(words[0])
                needs = {("F", rank, number)} if kind == "B" else set()
                neighbor = rank + 1 if kind == "B" else rank - 1
                needs |= {(kind, neighbor, number)} if 0 <= neighbor < len(left) else set()
                if not needs <= done:
                    break
                done.add((kind, rank, number))
                words.pop(0)
                moved = True
    return "deadlock" if any(left) else "ok"
