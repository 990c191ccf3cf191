# %% right: count_travels_along
def mended_training(comm, weights, inputs, targets, rate):
    """Each with each, in float64, with the number of examples as one element more."""

    def total(mine):
        others = [rank for rank in range(comm.world_size) if rank != comm.rank]
        boxes = [torch.empty_like(mine) for _ in others]
        work = [comm.irecv(box, rank) for box, rank in zip(boxes, others, strict=True)]
        work += [comm.isend(mine, rank) for rank in others]
        for each in work:
            each.wait()
        # In the order of ranks, so that everybody rounds alike.
        return sum((mine if rank == comm.rank else boxes[others.index(rank)]) for rank in range(comm.world_size))

    if comm.rank:
        weights.zero_()
    weights.copy_(total(weights.clone()))
    state = torch.zeros_like(weights)
    for rows, wanted in zip(inputs, targets, strict=True):
        examples = torch.tensor([float(len(wanted))], dtype=torch.float64)
        sums = total(torch.cat([len(wanted) * mean_gradient(weights, rows, wanted), examples]))
        adagrad(weights, sums[:-1] / sums[-1], state, rate)


# %% right: optimizer_of_torch
def mended_training(comm, weights, inputs, targets, rate):
    if comm.rank:
        weights.mul_(0)
    all_reduce(comm, weights)
    w = torch.nn.Parameter(weights.clone())
    opt = torch.optim.Adagrad([w], lr=rate)
    for rows, wanted in zip(inputs, targets, strict=True):
        opt.zero_grad()
        ((rows @ w - wanted) ** 2).mean().backward()
        all_reduce(comm, w.grad)
        w.grad /= comm.world_size
        opt.step()
    weights.copy_(w.detach())
