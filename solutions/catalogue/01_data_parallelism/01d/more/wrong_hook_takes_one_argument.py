# expect: takes 1 positional argument but 2 were given
def overlapped_backward(comm, gradients, seconds):
    def hook(gradient):
        for rank in range(comm.world_size):
            if rank != comm.rank:
                comm.isend(gradient, rank)

    backward(comm, gradients, seconds, hook)
