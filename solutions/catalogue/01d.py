# %% right: class_with_a_dictionary
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


# %% right: receives_first
def overlapped_backward(comm, gradients, seconds):
    others = [rank for rank in range(comm.world_size) if rank != comm.rank]
    layers = reversed(range(len(gradients)))
    inboxes = {layer: {rank: torch.zeros_like(gradients[layer]) for rank in others} for layer in layers}
    receives = [comm.irecv(inbox, rank) for boxes in inboxes.values() for rank, inbox in boxes.items()]
    sends = []

    def on_gradient_ready(layer, gradient):
        sends.extend(comm.isend(gradient.clone(), rank) for rank in others)

    backward(comm, gradients, seconds, on_gradient_ready)
    for work in receives + sends:
        work.wait()
    for layer, boxes in inboxes.items():
        for inbox in boxes.values():
            gradients[layer].add_(inbox)


# %% right by night: in_two_halves
def overlapped_backward(comm, gradients, seconds):
    others = [rank for rank in range(comm.world_size) if rank != comm.rank]
    works, arriving = [], []

    def on_gradient_ready(layer, gradient):
        for rank in others:
            incoming = torch.empty_like(gradient)
            arriving.append((layer, incoming))
            for mine, theirs in zip(gradient.tensor_split(2), incoming.tensor_split(2), strict=True):
                works.append(comm.irecv(theirs, rank))
                works.append(comm.isend(mine, rank))

    backward(comm, gradients, seconds, on_gradient_ready)
    for work in works:
        work.wait()
    for layer, incoming in arriving:
        gradients[layer] += incoming


# %% wrong: one_flat_message
def overlapped_backward(comm, gradients, seconds):
    backward(comm, gradients, seconds, lambda layer, gradient: None)
    flat = torch.cat(gradients)
    all_reduce(comm, flat)
    for gradient, total in zip(gradients, flat.split([len(each) for each in gradients]), strict=True):
        gradient.copy_(total)


# %% wrong: receives_at_the_end
def overlapped_backward(comm, gradients, seconds):
    others = [rank for rank in range(comm.world_size) if rank != comm.rank]
    sends = []
    backward(comm, gradients, seconds, lambda layer, grad: sends.extend(comm.isend(grad.clone(), r) for r in others))
    for layer in reversed(range(len(gradients))):
        for rank in others:
            incoming = torch.empty_like(gradients[layer])
            comm.recv(incoming, rank)
            gradients[layer] += incoming
    for work in sends:
        work.wait()


# %% wrong: waits_in_the_hook
def overlapped_backward(comm, gradients, seconds):
    def on_gradient_ready(layer, gradient):
        works, buffers = [], []
        for rank in range(comm.world_size):
            if rank != comm.rank:
                buffers.append(torch.empty_like(gradient))
                works += [comm.irecv(buffers[-1], rank), comm.isend(gradient, rank)]
        for work in works:
            work.wait()
        for buffer in buffers:
            gradient += buffer

    backward(comm, gradients, seconds, on_gradient_ready)
