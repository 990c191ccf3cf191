# expect: or gives what all_reduce gives
def input_split_forward(comm, x, weight, bias):
    return all_reduce(comm, x @ weight.T + bias / comm.world_size)
