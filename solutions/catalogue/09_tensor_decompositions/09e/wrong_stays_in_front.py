# expect: The new row digit must go to the end
def product(cores, x):
    state = x
    for core in cores:
        r, m, n, s = core.shape
        state = core.permute(3, 1, 0, 2).reshape(s * m, r * n) @ state.reshape(r * n, -1)
    return state.reshape(-1)
