# expect: A rank between two cores is summed once
def product(cores, x):
    state = x
    for core in cores:
        matrix = core.sum((0, 3))
        state = (matrix @ state.reshape(matrix.shape[1], -1)).T
    return state.reshape(-1)
