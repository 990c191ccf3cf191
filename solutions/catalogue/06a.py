# %% right: closed_form
def forward_ends(stage_times, micro_batches):
    return [
        [sum(stage_times[: i + 1]) + j * max(stage_times[: i + 1]) for j in range(micro_batches)]
        for i in range(len(stage_times))
    ]


# %% right: recurrence
def forward_ends(stage_times, micro_batches):
    ends = [[0] * micro_batches for _ in stage_times]
    for i, t in enumerate(stage_times):
        for j in range(micro_batches):
            ends[i][j] = max(ends[i - 1][j] if i else 0, ends[i][j - 1] if j else 0) + t
    return ends
