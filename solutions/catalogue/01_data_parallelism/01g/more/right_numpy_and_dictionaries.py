import numpy as np
import torch


def exchange(comm, outgoing, shapes):
    inbox = {r: torch.empty(n) for r, n in shapes.items()}
    ws = [comm.isend(t, r) for r, t in outgoing.items()]
    ws += [comm.irecv(t, r) for r, t in inbox.items()]
    while ws:
        ws.pop(0).wait()
    return inbox


def zero_step(comm, parameters, gradient, state, rate, momentum):
    p, me = comm.world_size, comm.rank
    bounds = np.cumsum([0] + [len(c) for c in np.array_split(parameters.numpy(), p)])

    def cut(t, r):
        return t[bounds[r] : bounds[r + 1]]

    others = [r for r in range(p) if r != me]
    got = exchange(comm, {r: cut(gradient, r) for r in others}, {r: len(cut(gradient, me)) for r in others})
    mean = np.mean([cut(gradient, me).numpy()] + [t.numpy() for t in got.values()], axis=0)
    state = torch.from_numpy((momentum * state.numpy() + mean).astype(np.float32))
    mine = cut(parameters, me) - rate * state
    got = exchange(comm, dict.fromkeys(others, mine), {r: len(cut(gradient, r)) for r in others})
    return np.concatenate([mine.numpy() if r == me else got[r].numpy() for r in range(p)]), state
