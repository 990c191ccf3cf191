# expect: has no second bias
def mlp_forward(comm, x, first, first_bias, second, second_bias):
    y = torch.relu(x @ first.T + first_bias) @ second.T
    all_reduce(comm, y)
    return y
