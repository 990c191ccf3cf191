# expect: exp of a logit of 200
def vocabulary_loss(comm, logits, targets, first):
    sums = logits.exp().sum(1)
    all_reduce(comm, sums)
    mine = (targets >= first) & (targets < first + logits.shape[1])
    own = logits.gather(1, (targets - first).where(mine, 0).unsqueeze(1)).squeeze(1) * mine
    all_reduce(comm, own)
    return sums.log() - own
