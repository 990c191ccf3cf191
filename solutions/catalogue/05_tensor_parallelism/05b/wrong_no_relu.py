# expect: has no relu between the layers
def mlp_forward(comm, x, first, first_bias, second, second_bias):
    y = (x @ first.T + first_bias) @ second.T
    all_reduce(comm, y)
    return y + second_bias
