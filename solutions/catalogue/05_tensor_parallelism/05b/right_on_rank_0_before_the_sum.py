def mlp_forward(comm, x, first, first_bias, second, second_bias):
    hidden = torch.nn.functional.linear(x, first, first_bias).clamp(min=0)
    y = torch.nn.functional.linear(hidden, second, second_bias if comm.rank == 0 else None)
    all_reduce(comm, y)
    return y
