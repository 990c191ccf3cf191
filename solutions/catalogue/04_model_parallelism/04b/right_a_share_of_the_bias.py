def input_split_forward(comm, x, weight, bias):
    y = x @ weight.T + bias / comm.world_size
    all_reduce(comm, y)
    return y
