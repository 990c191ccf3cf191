# expect: before the stage in front of it has ended
def forward_ends(stage_times, micro_batches):
    return [[t * (j + 1) for j in range(micro_batches)] for t in stage_times]
