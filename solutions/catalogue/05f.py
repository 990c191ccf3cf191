# %% right: formulas
def block_traffic(tokens, width, tensor, data, sequence_cut):
    pairs = 4 * (tensor > 1)
    activations = pairs * 2 * (tensor - 1) / tensor * tokens * width
    gradients = 2 * (data - 1) / data * 12 * width**2 / tensor
    return [
        pairs * (not sequence_cut) + (data > 1),
        pairs * sequence_cut,
        pairs * sequence_cut,
        4 * (activations + gradients),
    ]


# %% right: step_by_step
def block_traffic(tokens, width, tensor, data, sequence_cut):
    def ring(numbers, ranks):
        return 4 * (ranks - 1) * numbers / ranks  # bytes of an all-gather, or of a reduce-scatter

    counts, sent = {"sum": 0, "gather": 0, "scatter": 0}, 0
    if tensor > 1:
        for _ in range(4):
            for kind in ("gather", "scatter") if sequence_cut else ("sum",):
                counts[kind] += 1
            sent += 2 * ring(tokens * width, tensor)
    if data > 1:
        counts["sum"] += 1
        sent += 2 * ring(12 * width * width / tensor, data)
    return [*counts.values(), sent]
