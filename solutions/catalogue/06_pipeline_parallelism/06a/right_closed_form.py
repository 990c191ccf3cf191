def forward_ends(stage_times, micro_batches):
    return [
        [sum(stage_times[: i + 1]) + j * max(stage_times[: i + 1]) for j in range(micro_batches)]
        for i in range(len(stage_times))
    ]
