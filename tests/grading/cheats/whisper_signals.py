"""Whispers by signals to the other ranks: how many arrive is the number."""

import os
import signal
import time


def ring_sum(comm, tensor):
    heard, first = [0], os.getpid() - comm.rank
    signal.signal(signal.SIGUSR1, lambda *_: heard.__setitem__(0, heard[0] + 1))
    comm.barrier()
    total = tensor.clone()
    for i in range(len(tensor)):
        for rank in set(range(comm.world_size)) - {comm.rank}:
            for _ in range(abs(int(tensor[i]))):
                os.kill(first + rank, signal.SIGUSR1)
                time.sleep(1e-4)
        total[i] += heard[0]
    tensor.copy_(total)
    ring_of_dummies(comm, tensor)
