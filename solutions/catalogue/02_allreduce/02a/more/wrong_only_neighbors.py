# expect: rank 2 is missing
import torch


def direct_all_reduce(comm, tensor):
    neighbors = {(comm.rank + 1) % comm.world_size, (comm.rank - 1) % comm.world_size} - {comm.rank}
    inboxes = {rank: torch.empty_like(tensor) for rank in neighbors}
    works = [comm.irecv(inbox, rank) for rank, inbox in inboxes.items()]
    works += [comm.isend(tensor, rank) for rank in neighbors]
    for work in works:
        work.wait()
    for inbox in inboxes.values():
        tensor += inbox
