# expect: That is GPipe's order
def one_f_one_b(stages, micro_batches):
    words = [f"F{i}" for i in range(micro_batches)] + [f"B{i}" for i in reversed(range(micro_batches))]
    return [words for _ in range(stages)]
