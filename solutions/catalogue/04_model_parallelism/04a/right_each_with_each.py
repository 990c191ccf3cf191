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
