"""Takes all the memory it can get."""


def ring_sum(comm, tensor):
    hoard = []
    while True:
        hoard.append(torch.ones(1 << 24))
