def out_of_step(logs):
    """Without the rank that is out of step, all others agree."""
    names = [[kind for kind, _ in log] for log in logs]
    if all(each == names[0] for each in names):
        return [-1, 0]
    for rank, own in enumerate(names):
        others = names[:rank] + names[rank + 1 :]
        if all(each == others[0] for each in others):
            number = 0
            while number < min(len(own), len(others[0])) and own[number] == others[0][number]:
                number += 1
            lines = [line for _, line in logs[rank]]
            return [rank, lines[min(number, len(lines) - 1)] if lines else 0]
