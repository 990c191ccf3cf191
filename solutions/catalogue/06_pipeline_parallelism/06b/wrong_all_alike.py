# expect: Not every rank begins with so many F
def one_f_one_b(stages, micro_batches):
    schedule = []
    for _ in range(stages):
        warm_up = min(stages, micro_batches)
        words = [f"F{i}" for i in range(warm_up)]
        for i in range(micro_batches):
            words.append(f"B{i}")
            if i + warm_up < micro_batches:
                words.append(f"F{i + warm_up}")
        schedule.append(words)
    return schedule
