# %% right: pairs_in_one_message
def vocabulary_loss(comm, logits, targets, first):
    largest = logits.amax(1)
    all_reduce(comm, largest, "max")
    sums, own = (logits - largest.unsqueeze(1)).exp().sum(1), torch.zeros(len(targets))
    for token, target in enumerate(targets.tolist()):
        if first <= target < first + logits.shape[1]:
            own[token] = logits[token, target - first] - largest[token]
    both = torch.stack([sums, own])
    all_reduce(comm, both)
    return both[0].log() - both[1]


# %% right: three_all_reduces
def vocabulary_loss(comm, logits, targets, first):
    largest = logits.amax(1)
    all_reduce(comm, largest, "max")
    sums = (logits - largest.unsqueeze(1)).exp().sum(1)
    all_reduce(comm, sums)
    mine = (targets >= first) & (targets < first + logits.shape[1])
    own = logits.gather(1, (targets - first).where(mine, 0).unsqueeze(1)).squeeze(1) * mine
    all_reduce(comm, own)
    return sums.log() + largest - own
