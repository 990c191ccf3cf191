def product(cores, x):
    rows = 1
    state = x.reshape(1, 1, -1)
    for core in cores:
        r, m, n, s = core.shape
        state = torch.einsum("rmns,arnc->amsc", core, state.reshape(rows, r, n, -1))
        rows *= m
        state = state.reshape(rows, s, -1)
    return state.reshape(-1)
