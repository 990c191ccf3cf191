# expect: not only for the first
def forward_ends(stage_times, micro_batches):
    ends, begin = [], 0
    for t in stage_times:
        ends.append([begin + (i + 1) * t for i in range(micro_batches)])
        begin += t
    return ends
