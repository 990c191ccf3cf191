# %% match_and_dataclass
from dataclasses import dataclass, field


@dataclass
class Server:
    clocks: dict = field(default_factory=dict)
    waiting: list = field(default_factory=list)

    def let_go(self, slack):
        low = min(self.clocks.values(), default=0)
        free = [w for w in self.waiting if self.clocks[w] - low <= slack]
        self.waiting = [w for w in self.waiting if w not in free]
        return free


def bounded_server(comm, parameters, gradients, seconds, slack):
    match comm.rank:
        case 0:
            pass
        case _:
            return work(comm, parameters, gradients, seconds)
    server = Server({w: 0 for w in range(1, comm.world_size)})
    note = torch.empty(1, dtype=torch.int64)
    while server.clocks:
        match comm.recv(note), note.tolist():
            case worker, [word] if word == GOODBYE:
                del server.clocks[worker]
            case worker, _:
                comm.recv(box := torch.empty_like(parameters), worker)
                parameters.sub_(box)
                server.clocks[worker] += 1
                server.waiting.append(worker)
        for free in server.let_go(slack):
            comm.send(parameters, free)
    return parameters
