import torch


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
