"""Asks for large messages and never reads what the judge sends."""


def ring_sum(comm, tensor):
    p, r, works = comm.world_size, comm.rank, []
    if p == 1:
        return
    for _ in range(1000):
        works.append(comm.irecv(torch.empty(1 << 20), (r - 1) % p))
        comm.isend(torch.zeros(1 << 20), (r + 1) % p)
        comm._socket.tell(12, [works[-1]._handle, ""])
