"""Nobody touches a tensor while it is in a message: a simulator forgives that, real processes leave it to chance."""

import pytest
import torch

from course_lib import Communicator, RankError, Work, simulate
from course_lib.collectives import (
    ALL_REDUCES,
    all_gather,
    all_to_all,
    broadcast,
    gather,
    reduce,
    reduce_scatter,
    scatter,
)


class Careful(Communicator):
    """A communicator that fails when a tensor is used while it is being sent or received."""

    def __init__(self, comm) -> None:
        self.comm, self.rank, self.world_size, self.network = comm, comm.rank, comm.world_size, comm.network
        self.under_way: list[CarefulWork] = []

    def isend(self, tensor, dst):
        return CarefulWork(self, self.comm.isend(tensor, dst), tensor, receives=False)

    def irecv(self, tensor, src=None):
        work = CarefulWork(self, self.comm.irecv(tensor, src), tensor, receives=True)
        tensor.fill_(99)  # whoever reads it before it has arrived gets this
        return work

    def now(self):
        return self.comm.now()

    def compute(self, seconds, label="compute"):
        self.comm.compute(seconds, label)

    def _record_span(self, *span):
        self.comm._record_span(*span)

    def _apart(self, name):
        return self.comm._apart(name)


class CarefulWork(Work):
    def __init__(self, comm: Careful, work: Work, tensor: torch.Tensor, receives: bool) -> None:
        self.comm, self.work, self.tensor, self.receives = comm, work, tensor, receives
        self.before = tensor.clone()
        begin, end = self.memory
        for other in comm.under_way:
            if (receives or other.receives) and begin < other.memory[1] and other.memory[0] < end:
                raise AssertionError("two messages in the same memory")
        comm.under_way.append(self)

    @property
    def memory(self) -> tuple[int, int]:
        return self.tensor.data_ptr(), self.tensor.data_ptr() + self.tensor.nbytes

    def wait(self) -> bool:
        self.work.wait()
        if self in self.comm.under_way:
            self.comm.under_way.remove(self)
            assert self.receives or torch.equal(self.tensor, self.before), "changed while being sent"
        return True

    def source_rank(self) -> int:
        return self.work.source_rank()


def carefully(function):
    """The same program on a careful communicator; all its messages must have been waited for."""

    def program(comm, *args, **kwargs):
        careful = Careful(comm)
        result = function(careful, *args, **kwargs)
        assert careful.under_way == []
        return result

    return program


def chunks(comm, first: int = 0) -> list[torch.Tensor]:
    return [torch.arange(6.0) + 10 * rank + first for rank in range(comm.world_size)]


COLLECTIVES = {
    **{name: lambda comm, f=f: f(comm, torch.arange(24.0)) for name, f in ALL_REDUCES.items()},
    **{
        f"{name}, segments": lambda comm, name=name: ALL_REDUCES[name](comm, torch.arange(100.0), segment_bytes=8)
        for name in ("pipelined ring", "double tree")
    },
    "broadcast": lambda comm: broadcast(comm, torch.arange(6.0), 1),
    "reduce": lambda comm: reduce(comm, torch.arange(6.0), 1),
    "scatter": lambda comm: scatter(comm, torch.zeros(6), chunks(comm) if comm.rank == 1 else None, 1),
    "gather": lambda comm: gather(comm, torch.arange(6.0), chunks(comm) if comm.rank == 1 else None, 1),
    "all_gather": lambda comm: all_gather(comm, chunks(comm), torch.arange(6.0)),
    "reduce_scatter": lambda comm: reduce_scatter(comm, torch.zeros(6), chunks(comm)),
    "all_to_all": lambda comm: all_to_all(comm, chunks(comm), chunks(comm, 100)),
}


@pytest.mark.parametrize("world_size", [2, 3, 4, 7])
@pytest.mark.parametrize("name", COLLECTIVES)
def test_no_collective_touches_what_is_under_way(name: str, world_size: int) -> None:
    simulate(carefully(COLLECTIVES[name]), world_size)


@pytest.mark.parametrize("world_size", [2, 3, 4, 7])
@pytest.mark.parametrize("name", ALL_REDUCES)
def test_nothing_is_read_before_it_has_arrived(name: str, world_size: int) -> None:
    def program(comm):
        tensor = torch.arange(24.0)
        carefully(ALL_REDUCES[name])(comm, tensor)
        return tensor

    for tensor in simulate(program, world_size).results:
        assert torch.equal(tensor, world_size * torch.arange(24.0))


def test_the_careful_communicator_notices() -> None:
    def two_in_one(comm):
        tensor = torch.zeros(2)
        works = [comm.isend(tensor, 1 - comm.rank), comm.irecv(tensor, 1 - comm.rank)]
        [work.wait() for work in works]

    def changes(comm):
        tensor = torch.zeros(2)
        sent = comm.isend(tensor, 1 - comm.rank)
        comm.recv(torch.zeros(2), 1 - comm.rank)
        tensor.add_(1)
        sent.wait()

    for program, message in [(two_in_one, "two messages in the same memory"), (changes, "changed while being sent")]:
        with pytest.raises(RankError, match=message):
            simulate(carefully(program), world_size=2)
