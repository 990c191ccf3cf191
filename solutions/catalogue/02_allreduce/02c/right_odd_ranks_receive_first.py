import torch


def ring_all_gather(comm, tensor):
    p, r = comm.world_size, comm.rank
    pieces = [piece.clone() for piece in tensor.tensor_split(p)]
    for step in range(p - 1):
        give, take = (r - step) % p, (r - step - 1) % p
        if r % 2:
            comm.recv(pieces[take], (r - 1) % p)
            comm.send(pieces[give], (r + 1) % p)
        else:
            comm.send(pieces[give], (r + 1) % p)
            comm.recv(pieces[take], (r - 1) % p)
    tensor.copy_(torch.cat(pieces))
    return tensor
