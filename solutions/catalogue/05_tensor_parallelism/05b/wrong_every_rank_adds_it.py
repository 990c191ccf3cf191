# expect: every rank added one before the sum
def mlp_forward(comm, x, first, first_bias, second, second_bias):
    y = torch.relu(x @ first.T + first_bias) @ second.T + second_bias
    all_reduce(comm, y)
    return y
