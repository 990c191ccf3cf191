import torch


def asynchronous_server(comm, parameters, gradients, seconds):
    if comm.rank > 0:
        return work(comm, parameters, gradients, seconds)
    here = set(range(1, comm.world_size))
    while here:
        note = torch.zeros(1, dtype=torch.int64)
        pending = comm.irecv(note)
        pending.wait()
        worker = pending.source_rank()
        if int(note) == GOODBYE:
            here.discard(worker)
        else:
            box = torch.empty_like(parameters)
            comm.irecv(box, worker).wait()
            parameters = parameters - box
            comm.isend(parameters.clone(), worker).wait()
    return parameters
