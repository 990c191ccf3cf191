# %% right: mean_of_parameters
def outer_step(comm, common, own, velocity, rate, momentum):
    mean = own.clone()
    all_reduce(comm, mean)
    gradient = common - mean / comm.world_size
    new = gradient.add(velocity, alpha=momentum)
    return new.mul(momentum).add(gradient).mul(-rate).add(common), new


# %% right: torch_sgd
def outer_step(comm, common, own, velocity, rate, momentum):
    row = torch.nn.Parameter(common.clone())
    row.grad = common - own
    all_reduce(comm, row.grad)
    row.grad /= comm.world_size
    optimizer = torch.optim.SGD([row], lr=rate, momentum=momentum, nesterov=True)
    optimizer.state[row]["momentum_buffer"] = velocity.clone()
    optimizer.step()
    return [row.detach(), optimizer.state[row]["momentum_buffer"]]
