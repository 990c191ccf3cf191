# expect: The digits of y are in the reverse order
def product(cores, x):
    state, rows = x, []
    for core in cores:
        r, m, n, s = core.shape
        rows.insert(0, m)
        state = core.permute(3, 1, 0, 2).reshape(s * m, r * n) @ state.reshape(r * n, -1)
        state = state.reshape(s, m, -1).transpose(1, 2)
    digits = state.reshape(rows[::-1])
    return digits.permute(*range(len(rows) - 1, -1, -1)).reshape(-1)
