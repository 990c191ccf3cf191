def product(cores, x):
    state = x.reshape([core.shape[2] for core in cores] + [1])
    d = len(cores)
    for core in reversed(cores):
        state = torch.tensordot(state, core, dims=([d - 1, d], [2, 3])).movedim(-1, 0)
    return state.reshape(-1, 1)
