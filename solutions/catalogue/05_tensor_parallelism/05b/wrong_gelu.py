# expect: here it is relu
def mlp_forward(comm, x, first, first_bias, second, second_bias):
    y = torch.nn.functional.gelu(x @ first.T + first_bias) @ second.T
    all_reduce(comm, y)
    return y + second_bias
