# expect: its first word's logit where the target is another rank's
def vocabulary_loss(comm, logits, targets, first):
    largest = logits.amax(1)
    all_reduce(comm, largest, "max")
    sums = (logits - largest.unsqueeze(1)).exp().sum(1)
    all_reduce(comm, sums)
    mine = (targets >= first) & (targets < first + logits.shape[1])
    own = logits.gather(1, (targets - first).where(mine, 0).unsqueeze(1)).squeeze(1)
    all_reduce(comm, own)
    return sums.log() + largest - own
