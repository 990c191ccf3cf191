# expect: but rank 0 has
def input_split_forward(comm, x, weight, bias):
    y = x @ weight.T
    all_reduce(comm, y)
    return y + bias if comm.rank == 0 else y
