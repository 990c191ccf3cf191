import torch


def accumulate(comm, gradients, examples):
    sums = [sum(n * g[i].item() for n, g in zip(examples, gradients, strict=True)) for i in range(len(gradients[0]))]
    message = torch.tensor([*sums, sum(examples)])
    all_reduce(comm, message)
    *sums, count = message.tolist()
    return [each / count for each in sums]
