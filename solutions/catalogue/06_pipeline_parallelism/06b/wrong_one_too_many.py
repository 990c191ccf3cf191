# expect: One F too many
def one_f_one_b(stages, micro_batches):
    ranks = []
    for rank in range(stages):
        ahead = min(stages - rank, micro_batches)
        words = [f"F{i}" for i in range(ahead)]
        for i in range(ahead, micro_batches):
            words += [f"F{i}", f"B{i - ahead}"]
        ranks.append(words + [f"B{i}" for i in range(micro_batches - ahead, micro_batches)])
    return ranks
