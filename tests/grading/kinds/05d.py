# %% vmap_rows
def vocabulary_loss(comm, logits, targets, first):
    top = torch.vmap(torch.max)(logits)
    all_reduce(comm, top, "max")

    def of_one(row, target, m):
        hit = (torch.arange(row.shape[0]) + first) == target
        return torch.stack([(row - m).exp().sum(), torch.where(hit, row, 0.0).sum()])

    both = torch.vmap(of_one)(logits, targets, top).T.contiguous()
    all_reduce(comm, both)
    return both[0].log() + top - both[1]
