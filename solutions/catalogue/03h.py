# %% right: all_copies_kept_alike
def mended_server(comm, parameters, gradients, seconds):
    if comm.rank > 0:
        return work(comm, parameters, gradients, seconds)
    sent = {worker: parameters.clone() for worker in range(1, comm.world_size)}
    note, gradient = torch.zeros(1, dtype=torch.int64), torch.empty_like(parameters)
    here = comm.world_size - 1
    while here:
        worker = comm.recv(note)
        if note.item() == GOODBYE:
            here -= 1
            continue
        comm.recv(gradient, worker)
        parameters = sent[worker] - gradient
        sent = dict.fromkeys(sent, parameters)
        comm.send(parameters, worker)
    return parameters


# %% right: replays_its_log
def mended_server(comm, parameters, gradients, seconds):
    if comm.rank > 0:
        return work(comm, parameters, gradients, seconds)
    note, log, here = torch.zeros(1, dtype=torch.int64), [], set(range(1, comm.world_size))
    while here:
        worker = comm.recv(note)
        if note.item() == GOODBYE:
            here.remove(worker)
            continue
        box = torch.empty_like(parameters)
        comm.recv(box, worker)
        log.append(box)
        comm.send(parameters - torch.stack(log).sum(0), worker)
    return parameters - torch.stack(log).sum(0) if log else parameters
