import torch


def bounded_server(comm, parameters, gradients, seconds, slack):
    if comm.rank > 0:
        return work(comm, parameters, gradients, seconds)

    def next_message():
        note = torch.zeros(1, dtype=torch.int64)
        worker = comm.recv(note)
        if note == GOODBYE:
            return worker, None
        gradient = torch.empty_like(parameters)
        comm.recv(gradient, worker)
        return worker, gradient

    clocks = dict.fromkeys(range(1, comm.world_size), 0)
    held = set()
    while clocks:
        worker, gradient = next_message()
        if gradient is None:
            del clocks[worker]
        else:
            parameters = parameters - gradient
            clocks[worker] += 1
            held.add(worker)
        free = {other for other in held if clocks[other] <= min(clocks.values()) + slack}
        for other in free:
            comm.send(parameters, other)
        held -= free
    return parameters
