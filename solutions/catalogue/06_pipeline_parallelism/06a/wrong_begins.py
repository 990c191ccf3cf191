# expect: at which the passes begin
def forward_ends(stage_times, micro_batches):
    begins = []
    for i, t in enumerate(stage_times):
        free, row = 0, []
        for j in range(micro_batches):
            begin = max(free, begins[i - 1][j] + stage_times[i - 1] if i else 0)
            row.append(begin)
            free = begin + t
        begins.append(row)
    return begins
