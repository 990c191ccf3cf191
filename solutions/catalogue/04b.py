# %% right: a_share_of_the_bias
def input_split_forward(comm, x, weight, bias):
    y = x @ weight.T + bias / comm.world_size
    all_reduce(comm, y)
    return y


# %% right: after_the_sum
def input_split_forward(comm, x, weight, bias):
    y = x @ weight.T
    all_reduce(comm, y)
    return y + bias


# %% right: on_rank_0_before_the_sum
def input_split_forward(comm, x, weight, bias):
    y = x @ weight.T
    if comm.rank == 0:
        y += bias
    all_reduce(comm, y)
    return y
