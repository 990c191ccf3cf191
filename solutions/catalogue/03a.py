# %% right: counts_who_is_here
def asynchronous_server(comm, parameters, gradients, seconds):
    if comm.rank > 0:
        return work(comm, parameters, gradients, seconds)
    note, gradient = torch.zeros(1, dtype=torch.int64), torch.empty_like(parameters)

    here = comm.world_size - 1
    while here:
        worker = comm.recv(note)
        if note.item() == GOODBYE:
            here -= 1
        else:
            comm.recv(gradient, worker)
            parameters -= gradient
            comm.send(parameters, worker)
    return parameters


# %% right: waits_at_the_end
def asynchronous_server(comm, parameters, gradients, seconds):
    if comm.rank > 0:
        return work(comm, parameters, gradients, seconds)
    note, gradient = torch.zeros(1, dtype=torch.int64), torch.empty_like(parameters)
    here, works = comm.world_size - 1, []
    while here:
        worker = comm.recv(note)
        if note.item() == GOODBYE:
            here -= 1
            continue
        comm.recv(gradient, worker)
        parameters -= gradient
        works.append(comm.isend(parameters.clone(), worker))
    for w in works:
        w.wait()
    return parameters


# %% wrong: answers_everybody
def asynchronous_server(comm, parameters, gradients, seconds):
    if comm.rank > 0:
        return work(comm, parameters, gradients, seconds)
    note, gradient = torch.zeros(1, dtype=torch.int64), torch.empty_like(parameters)

    here = set(range(1, comm.world_size))
    while here:
        worker = comm.recv(note)
        if note.item() == GOODBYE:
            here.remove(worker)
        else:
            comm.recv(gradient, worker)
            parameters -= gradient
            for other in here:
                comm.send(parameters, other)
    return parameters


# %% wrong: one_rank_after_the_other
def asynchronous_server(comm, parameters, gradients, seconds):
    if comm.rank > 0:
        return work(comm, parameters, gradients, seconds)
    note, gradient = torch.zeros(1, dtype=torch.int64), torch.empty_like(parameters)

    here = set(range(1, comm.world_size))
    while here:
        for worker in sorted(here):
            comm.recv(note, worker)
            if note.item() == GOODBYE:
                here.remove(worker)
            else:
                comm.recv(gradient, worker)
                parameters -= gradient
                comm.send(parameters, worker)
    return parameters


# %% wrong: sends_the_gradient_back
def asynchronous_server(comm, parameters, gradients, seconds):
    if comm.rank > 0:
        return work_and_compare(comm, parameters, gradients, seconds)
    note, gradient, here = torch.zeros(1, dtype=torch.int64), torch.empty_like(parameters), comm.world_size - 1
    while here:
        worker = comm.recv(note)
        if note.item() == GOODBYE:
            here -= 1
        else:
            comm.recv(gradient, worker)
            parameters -= gradient
            comm.send(parameters, worker)
            comm.send(gradient, worker)
    return parameters


def work_and_compare(comm, parameters, gradients, seconds):
    answers = []
    for gradient, pause in zip(gradients, seconds, strict=True):
        comm.compute(pause)
        comm.send(torch.tensor([GRADIENT]), 0)
        comm.send(gradient, 0)
        answer, echo = torch.empty_like(parameters), torch.empty_like(parameters)
        comm.recv(answer, 0)
        comm.recv(echo, 0)
        answers.append(answer)
    comm.send(torch.tensor([GOODBYE]), 0)
    return answers
