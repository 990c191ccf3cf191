# %% right: array_of_texts
import numpy as np


def one_f_one_b(stages, micro_batches):
    rows = []
    for rank in range(stages):
        row, forward, backward = [], 0, 0
        while backward < micro_batches:
            if forward < min(micro_batches, backward + stages - rank):
                row.append(f"F{forward}")
                forward += 1
            else:
                row.append(f"B{backward}")
                backward += 1
        rows.append(row)
    return np.array(rows)


# %% right: counted
def one_f_one_b(stages, micro_batches):
    schedule = []
    for rank in range(stages):
        warm_up = min(stages - rank, micro_batches)
        words = ["F" + str(i) for i in range(warm_up)]
        for i in range(micro_batches - warm_up):
            words += ["B" + str(i), "F" + str(i + warm_up)]
        words += ["B" + str(i) for i in range(micro_batches - warm_up, micro_batches)]
        schedule.append(words)
    return schedule


# %% right: iterators
from itertools import chain, islice, zip_longest


def one_f_one_b(stages, micro_batches):
    def of(rank):
        f, b = (map(f"{k}{{}}".format, range(micro_batches)) for k in "FB")
        yield from islice(f, stages - rank)
        yield from filter(None, chain.from_iterable(zip_longest(b, f)))

    return (of(rank) for rank in range(stages))


# %% right: while
def one_f_one_b(stages, micro_batches):
    def order(rank):
        forward = backward = 0
        while backward < micro_batches:
            if forward < micro_batches and forward - backward < stages - rank:
                yield f"F{forward}"
                forward += 1
            else:
                yield f"B{backward}"
                backward += 1

    return [list(order(rank)) for rank in range(stages)]
