# expect: a list for each micro-batch
def forward_ends(stage_times, micro_batches):
    before, rows = [0] * len(stage_times), []
    for _ in range(micro_batches):
        now, row = 0, []
        for i, t in enumerate(stage_times):
            now = max(now, before[i]) + t
            row.append(now)
        rows.append(row)
        before = row
    return rows
