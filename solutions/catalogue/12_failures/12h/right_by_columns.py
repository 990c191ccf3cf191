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
