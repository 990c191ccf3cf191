import torch


class Reducer:
    def __init__(self, comm):
        self.comm, self.pending = comm, {}

    def __call__(self, layer, g):
        c = self.comm
        copy = g.clone()
        self.pending[layer] = [
            (c.isend(copy, r), c.irecv(b, r), b, copy)
            for r in range(c.world_size)
            if r != c.rank
            for b in [torch.empty_like(g)]
        ]

    def finish(self, gradients):
        for layer in sorted(self.pending):
            for s, r, b, _ in self.pending[layer]:
                r.wait()
                gradients[layer].add_(b)
                s.wait()


def overlapped_backward(comm, gradients, seconds):
    reducer = Reducer(comm)
    backward(comm, gradients, seconds, reducer)
    reducer.finish(gradients)
