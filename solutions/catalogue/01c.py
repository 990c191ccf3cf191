# %% right: as_autograd_does
def accumulate(comm, gradients, targets):
    grad = torch.zeros(len(gradients[0]) + 1)
    for gradient, labels in zip(gradients, targets, strict=True):
        n = torch.count_nonzero(labels + 100).item()
        grad[:-1] += gradient.nan_to_num() * n
        grad[-1] += n
    all_reduce(comm, grad)
    grad /= grad[-1].item()
    return grad[:-1]


# %% right: list_of_numbers
def accumulate(comm, gradients, targets):
    counts = [sum(label != -100 for row in each.tolist() for label in row) for each in targets]
    pairs = [(n, g.tolist()) for n, g in zip(counts, gradients, strict=True) if n > 0]
    sums = [sum(n * g[i] for n, g in pairs) for i in range(len(gradients[0]))]
    message = torch.tensor([*sums, sum(counts)], dtype=torch.float64)
    all_reduce(comm, message)
    *sums, count = message.tolist()
    return [each / count for each in sums]


# %% wrong: every_micro_batch
def accumulate(comm, gradients, targets):
    total = torch.zeros(len(gradients[0]) + 1)
    for gradient, each in zip(gradients, targets, strict=True):
        n = (each != -100).sum()
        message = torch.cat([(n * gradient).nan_to_num(), torch.tensor([float(n)])])
        all_reduce(comm, message)
        total += message
    return total[:-1] / total[-1]
