# expect: need not wait until the one before it has left
def forward_ends(stage_times, micro_batches):
    now, ends = 0, [[] for _ in stage_times]
    for _ in range(micro_batches):
        for i, t in enumerate(stage_times):
            now += t
            ends[i].append(now)
    return ends
