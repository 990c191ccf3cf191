import torch


def tree_all_reduce(comm, tensor):
    others = range(1, comm.world_size)
    if comm.rank == 0:
        parts = [torch.empty_like(tensor) for _ in others]
        works = [comm.irecv(part, rank) for part, rank in zip(parts, others, strict=True)]
        for work, part in zip(works, parts, strict=True):
            work.wait()
            tensor += part
        works = [comm.isend(tensor, rank) for rank in others]
        for work in works:
            work.wait()
    else:
        comm.send(tensor, 0)
        comm.recv(tensor, 0)
