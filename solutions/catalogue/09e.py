# %% right: einsum
def product(cores, x):
    rows = 1
    state = x.reshape(1, 1, -1)
    for core in cores:
        r, m, n, s = core.shape
        state = torch.einsum("rmns,arnc->amsc", core, state.reshape(rows, r, n, -1))
        rows *= m
        state = state.reshape(rows, s, -1)
    return state.reshape(-1)


# %% right: from_behind
def product(cores, x):
    state = x.reshape([core.shape[2] for core in cores] + [1])
    d = len(cores)
    for core in reversed(cores):
        state = torch.tensordot(state, core, dims=([d - 1, d], [2, 3])).movedim(-1, 0)
    return state.reshape(-1, 1)


# %% right: list
def product(cores, x):
    y = x
    for core in cores:
        r, m, n, s = core.shape
        y = core.permute(3, 1, 0, 2).reshape(s * m, r * n) @ y.reshape(r * n, -1)
        y = y.reshape(s, m, -1).transpose(1, 2)
    return y.flatten().tolist()
