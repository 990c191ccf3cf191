# expect: everybody sends and nobody receives
import torch


def direct_all_reduce(comm, tensor):
    others = [rank for rank in range(comm.world_size) if rank != comm.rank]
    for rank in others:
        comm.send(tensor, rank)
    inboxes = []
    for rank in others:
        inbox = torch.empty_like(tensor)
        comm.recv(inbox, rank)
        inboxes.append(inbox)
    for inbox in inboxes:
        tensor += inbox
