import torch


def ring_all_gather(comm, tensor):
    p, r = comm.world_size, comm.rank
    bounds = [sum(len(c) for c in tensor.tensor_split(p)[:i]) for i in range(p + 1)]
    held, number = tensor[bounds[r] : bounds[r + 1]].clone(), r
    while (number - 1) % p != r:
        number = (number - 1) % p
        arriving = torch.empty(bounds[number + 1] - bounds[number])
        receiving = comm.irecv(arriving, (r - 1) % p)
        comm.send(held, (r + 1) % p)
        receiving.wait()
        tensor[bounds[number] : bounds[number + 1]] = arriving
        held = arriving
