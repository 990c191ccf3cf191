def one_f_one_b(stages, micro_batches):
    schedule = []
    for rank in range(stages):
        warm_up = min(stages - rank, micro_batches)
        words = ["F" + str(i) for i in range(warm_up)]
        for i in range(micro_batches - warm_up):
            words += ["B" + str(i), "F" + str(i + warm_up)]
        words += ["B" + str(i) for i in range(micro_batches - warm_up, micro_batches)]
        schedule.append(words)
    return schedule
