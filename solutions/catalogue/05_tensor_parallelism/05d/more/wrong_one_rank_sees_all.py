# expect: three numbers a token
# like: wrong_gathers_logits
def vocabulary_loss(comm, logits, targets, first):
    losses = torch.empty(len(targets))
    if comm.rank > 0:
        comm.send(logits, 0)
        comm.recv(losses, 0)
        return losses
    parts = [logits]
    for rank in range(1, comm.world_size):
        parts.append(torch.empty_like(logits))
        comm.recv(parts[rank], rank)
    losses = torch.nn.functional.cross_entropy(torch.cat(parts, 1), targets, reduction="none")
    for rank in range(1, comm.world_size):
        comm.send(losses, rank)
    return losses
