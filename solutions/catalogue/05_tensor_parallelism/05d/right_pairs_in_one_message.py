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
