import torch
import torch.nn.functional


def ring_all_reduce(comm, tensor):
    p, r, n = comm.world_size, comm.rank, tensor.numel()
    size = -(-n // p)
    table = torch.nn.functional.pad(tensor, (0, size * p - n)).reshape(p, size)
    for step in range(2 * (p - 1)):
        give, take = (r - step) % p, (r - step - 1) % p
        buffer = torch.empty(size)
        receiving = comm.irecv(buffer, (r - 1) % p)
        comm.send(table[give], (r + 1) % p)
        receiving.wait()
        table[take] = buffer + table[take] if step < p - 1 else buffer
    tensor.copy_(table.reshape(-1)[:n])
    return tensor
