import torch


def mended_training(comm, weights, inputs, targets, rate):
    p = comm.world_size
    if comm.rank == 0:
        for r in range(1, p):
            comm.send(weights, r)
    else:
        comm.recv(weights, 0)
    state = torch.zeros_like(weights)
    for rows, wanted in zip(inputs, targets, strict=True):
        g = mean_gradient(weights, rows, wanted)
        bufs = [torch.empty_like(g) for _ in range(p)]
        ws = []
        for r in range(p):
            if r != comm.rank:
                ws += [comm.isend(g, r), comm.irecv(bufs[r], r)]
        bufs[comm.rank] = g
        for w in ws:
            w.wait()
        adagrad(weights, torch.stack(bufs).mean(0), state, rate)
