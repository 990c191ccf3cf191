# expect: returned its own addend
def mlp_forward(comm, x, first, first_bias, second, second_bias):
    y = torch.relu(x @ first.T + first_bias) @ second.T
    return y + second_bias
