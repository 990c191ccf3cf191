# expect: That is Wᵀx
def product(cores, x):
    state = x
    for core in cores:
        r, n, m, s = core.shape
        state = core.permute(3, 2, 0, 1).reshape(s * m, r * n) @ state.reshape(r * n, -1)
        state = state.reshape(s, m, -1).transpose(1, 2)
    return state.reshape(-1)
