# expect: every rank added one before the sum
def input_split_forward(comm, x, weight, bias):
    y = x @ weight.T + bias
    all_reduce(comm, y)
    return y
