import torch


def asynchronous_server(comm, parameters, gradients, seconds):
    if comm.rank > 0:
        return work(comm, parameters, gradients, seconds)
    workers = set(range(1, comm.world_size))
    while workers:
        note = torch.empty(1, dtype=torch.int64)
        receiving = comm.irecv(note)
        receiving.wait()
        worker = receiving.source_rank()
        if int(note[0]) != GRADIENT:
            workers.remove(worker)
            continue
        gradient = parameters.new_empty(parameters.shape)
        comm.irecv(gradient, worker).wait()
        parameters = parameters - gradient
        comm.isend(parameters, worker).wait()
    return parameters
