# expect: for a place in its own part
def vocabulary_loss(comm, logits, targets, first):
    largest = logits.amax(1)
    all_reduce(comm, largest, "max")
    sums = (logits - largest.unsqueeze(1)).exp().sum(1)
    all_reduce(comm, sums)
    mine = targets < logits.shape[1]
    own = logits.gather(1, targets.where(mine, 0).unsqueeze(1)).squeeze(1) * mine
    all_reduce(comm, own)
    return sums.log() + largest - own
