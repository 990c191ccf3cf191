# expect: rank 0 has no bias
def input_split_forward(comm, x, weight, bias):
    y = x @ weight.T
    all_reduce(comm, y)
    return y
