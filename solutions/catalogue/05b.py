# %% right: a_share_of_the_bias
def mlp_forward(comm, x, first, first_bias, second, second_bias):
    hidden = (x @ first.T + first_bias).clamp(min=0)
    y = hidden @ second.T + second_bias / comm.world_size
    all_reduce(comm, y)
    return y


# %% right: after_the_sum
def mlp_forward(comm, x, first, first_bias, second, second_bias):
    y = torch.relu(x @ first.T + first_bias) @ second.T
    all_reduce(comm, y)
    return y + second_bias


# %% right: on_rank_0_before_the_sum
def mlp_forward(comm, x, first, first_bias, second, second_bias):
    hidden = torch.nn.functional.linear(x, first, first_bias).clamp(min=0)
    y = torch.nn.functional.linear(hidden, second, second_bias if comm.rank == 0 else None)
    all_reduce(comm, y)
    return y
