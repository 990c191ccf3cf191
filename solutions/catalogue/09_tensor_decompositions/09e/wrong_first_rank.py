# expect: Sum over the whole rank
def product(cores, x):
    state = x
    for core in cores:
        matrix = core[0, :, :, 0]
        state = (matrix @ state.reshape(matrix.shape[1], -1)).T
    return state.reshape(-1)
