# expect: does not have the target's word
def vocabulary_loss(comm, logits, targets, first):
    largest = logits.amax(1)
    all_reduce(comm, largest, "max")
    sums = (logits - largest.unsqueeze(1)).exp().sum(1)
    all_reduce(comm, sums)
    places = (targets - first).clamp(0, logits.shape[1] - 1)
    own = logits[torch.arange(len(targets)), places]
    all_reduce(comm, own)
    return sums.log() + largest - own
