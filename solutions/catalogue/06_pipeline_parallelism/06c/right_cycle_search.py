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
