# %% right: by_columns
from itertools import zip_longest


def out_of_step(logs):
    columns = zip_longest(*[[kind for kind, _ in log] for log in logs], fillvalue="")
    for number, column in enumerate(columns):
        lonely = [rank for rank, kind in enumerate(column) if column.count(kind) == 1]
        if lonely:
            (rank,) = lonely
            before = [line for _, line in logs[rank]][: number + 1]
            return rank, (before or [0])[-1]
    return -1, 0


# %% right: leave_one_out
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
