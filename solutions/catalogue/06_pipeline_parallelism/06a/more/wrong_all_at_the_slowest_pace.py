# expect: none in front of it
def forward_ends(stage_times, micro_batches):
    step = max(stage_times)
    return [[sum(stage_times[: s + 1]) + i * step for i in range(micro_batches)] for s in range(len(stage_times))]
