# expect: forgot the target
def vocabulary_loss(comm, logits, targets, first):
    largest = logits.amax(1)
    all_reduce(comm, largest, "max")
    sums = (logits - largest.unsqueeze(1)).exp().sum(1)
    all_reduce(comm, sums)
    return sums.log() + largest
