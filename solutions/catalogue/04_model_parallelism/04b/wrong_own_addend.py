# expect: its own addend
def input_split_forward(comm, x, weight, bias):
    return x @ weight.T + bias
