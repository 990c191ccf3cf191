# %% right: all_reduce
def output_split_backward(comm, x, weight, y_grad):
    x_grad = y_grad @ weight
    all_reduce(comm, x_grad)
    return [x_grad, y_grad.T @ x]


# %% right: by_autograd
def output_split_backward(comm, x, weight, y_grad):
    x.requires_grad_(), weight.requires_grad_()
    (x @ weight.T).backward(y_grad)
    all_reduce(comm, x.grad)
    return x.grad, weight.grad


# %% right: each_with_each
def output_split_backward(comm, x, weight, y_grad):
    mine = y_grad @ weight
    x_grad = mine.clone()
    others = [rank for rank in range(comm.world_size) if rank != comm.rank]
    works = [comm.isend(mine, rank) for rank in others]
    for rank in others:
        incoming = torch.empty_like(mine)
        comm.recv(incoming, rank)
        x_grad += incoming
    for work in works:
        work.wait()
    weight_grad = torch.einsum("bo,bi->oi", y_grad, x)
    return x_grad, weight_grad
