# expect: has relu behind the second layer
def mlp_forward(comm, x, first, first_bias, second, second_bias):
    y = (x @ first.T + first_bias) @ second.T
    all_reduce(comm, y)
    return torch.relu(y + second_bias)
