# expect: One micro-batch at a time leaves
def one_f_one_b(stages, micro_batches):
    return [[f"{kind}{i}" for i in range(micro_batches) for kind in "FB"] for _ in range(stages)]
