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
