# %% hook_by_coroutine
def overlapped_backward(comm, gradients, seconds, *extra, **more):
    async def collect():
        pending = []
        while (item := await Now()) is not None:
            layer, gradient = item
            for other in {*range(comm.world_size)} - {comm.rank}:
                box = gradient.new_empty(gradient.shape)
                pending += [(comm.irecv(box, other), layer, box), (comm.isend(gradient, other), None, None)]
        return pending

    class Now:
        def __await__(self):
            return (yield)

    task = collect()
    task.send(None)
    backward(comm, gradients, seconds, lambda *item: task.send(item))
    try:
        task.send(None)
    except StopIteration as end:
        for work, _, _ in end.value:
            work.wait()
        for _, layer, box in end.value:
            if layer is not None:
                torch.add(gradients[layer], box, out=gradients[layer])
