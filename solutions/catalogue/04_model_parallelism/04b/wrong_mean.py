# expect: the addends are parts of one sum
def input_split_forward(comm, x, weight, bias):
    y = x @ weight.T
    all_reduce(comm, y)
    return y / comm.world_size + bias
