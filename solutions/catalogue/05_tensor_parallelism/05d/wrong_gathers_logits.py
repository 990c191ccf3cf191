# expect: three numbers a token
def vocabulary_loss(comm, logits, targets, first):
    works = [comm.isend(logits, rank) for rank in range(comm.world_size) if rank != comm.rank]
    parts = []
    for rank in range(comm.world_size):
        part = logits if rank == comm.rank else torch.empty_like(logits)
        if rank != comm.rank:
            comm.recv(part, rank)
        parts.append(part)
    for work in works:
        work.wait()
    return torch.nn.functional.cross_entropy(torch.cat(parts, 1), targets, reduction="none")
