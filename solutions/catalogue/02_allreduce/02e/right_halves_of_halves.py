import torch


def tree_all_reduce(comm, tensor):
    def up_and_down(low, high, then):
        """Add up ranks low to high - 1 on low, go on above, and hand the result down again."""
        if high - low > 1:
            middle = (low + high) // 2
            if comm.rank < middle:
                up_and_down(low, middle, lambda: meet(low, middle, then))
            else:
                up_and_down(middle, high, lambda: meet(low, middle, then))
        else:
            then()

    def meet(low, middle, then):
        if comm.rank == low:
            part = torch.empty_like(tensor)
            comm.recv(part, middle)
            tensor.add_(part)
            then()
            comm.isend(tensor, middle).wait()
        elif comm.rank == middle:
            comm.send(tensor, low)
            comm.recv(tensor, low)

    up_and_down(0, comm.world_size, lambda: None)
