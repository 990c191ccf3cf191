# %% right: heap
import heapq
import math


def bounded_server(comm, parameters, gradients, seconds, slack):
    if comm.rank > 0:
        return work(comm, parameters, gradients, seconds)
    note, gradient = torch.zeros(1, dtype=torch.int64), torch.empty_like(parameters)
    clocks = dict.fromkeys(range(1, comm.world_size), 0)
    queue = []

    def release():
        while queue and (queue[0][0] - min(clocks.values(), default=math.inf)) <= slack:
            _, who = heapq.heappop(queue)
            comm.send(parameters, who)

    while clocks:
        who = comm.recv(note)
        if note.item() == GOODBYE:
            del clocks[who]
        else:
            comm.recv(gradient, who)
            parameters.sub_(gradient)
            clocks[who] += 1
            heapq.heappush(queue, (clocks[who], who))
        release()
    return parameters


# %% right: latest_first
def bounded_server(comm, parameters, gradients, seconds, slack):
    if comm.rank > 0:
        return work(comm, parameters, gradients, seconds)
    note, gradient = torch.zeros(1, dtype=torch.int64), torch.empty_like(parameters)

    ended, done = set(), dict.fromkeys(range(1, comm.world_size), 0)
    queue = []
    while len(ended) < len(done):
        worker = comm.recv(note)
        if note.item() == GRADIENT:
            comm.recv(gradient, worker)
            parameters.sub_(gradient)
            done[worker] += 1
            queue.insert(0, worker)
        else:
            ended.add(worker)
        slowest = min((clock for rank, clock in done.items() if rank not in ended), default=0)
        still = []
        for other in queue:
            if done[other] > slowest + slack:
                still.append(other)
            else:
                comm.isend(parameters, other).wait()
        queue = still
    return parameters
