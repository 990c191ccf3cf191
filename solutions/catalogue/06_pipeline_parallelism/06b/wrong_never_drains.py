# expect: When no F is left
def one_f_one_b(stages, micro_batches):
    schedule = []
    for rank in range(stages):
        warm_up = min(stages - rank, micro_batches)
        words = [f"F{i}" for i in range(warm_up)]
        for i in range(micro_batches):
            if i + warm_up < micro_batches:
                words += [f"B{i}", f"F{i + warm_up}"]
        schedule.append(words)
    return schedule
