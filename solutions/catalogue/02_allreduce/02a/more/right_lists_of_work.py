import torch


def direct_all_reduce(comm, tensor):
    others = [rank for rank in range(comm.world_size) if rank != comm.rank]
    inboxes = [torch.empty_like(tensor) for _ in others]
    works = [comm.irecv(inbox, rank) for inbox, rank in zip(inboxes, others, strict=True)]
    works += [comm.isend(tensor, rank) for rank in others]
    for work in works:
        work.wait()
    for inbox in inboxes:
        tensor += inbox
