"""What a rank can say."""

import copy
import re
import sys

import cloudpickle
import pytest
import torch

from course_lib import Communicator, DeadlockError, Network, RankError, TransportError, run, simulate
from course_lib.comm.transport.communicator import ProcessCommunicator

cloudpickle.register_pickle_by_value(sys.modules[__name__])  # as if these programs were written in a notebook

WORDS = {"rank", "world_size", "network", "send", "recv", "isend", "irecv", "barrier", "now", "compute", "span"}


def test_every_executor_offers_the_same_words():
    def program(comm):
        return {word for word in WORDS if hasattr(comm, word)}

    assert simulate(program, 1).results == run(program, 1).results == [WORDS]
    assert issubclass(ProcessCommunicator, Communicator)


@pytest.mark.parametrize("world_size", range(1, 10))
def test_a_barrier_is_log2_rounds_of_one_empty_message_a_rank(world_size):
    trace = simulate(lambda comm: comm.barrier(), world_size).trace
    rounds = (world_size - 1).bit_length()
    assert (trace.steps, trace.total_bytes) == (rounds, 0)
    assert trace.messages_sent == [rounds] * world_size


EXECUTORS = {
    "greenlets": lambda program, world_size: simulate(program, world_size, ranks="greenlets"),
    "threads": lambda program, world_size: simulate(program, world_size, ranks="threads"),
    "processes": run,
    "emulated": lambda program, world_size: run(program, world_size, network=Network(latency_s=1e-3)),
}


@pytest.mark.parametrize("name", EXECUTORS)
@pytest.mark.parametrize("anyone", [False, True])
def test_a_receive_posted_before_a_barrier_gets_what_is_sent_after_it(anyone, name):
    def program(comm):
        got, empty = torch.zeros(2), torch.ones(0)
        if comm.rank == 0:
            receiving = comm.irecv(got, None if anyone else 2)
        elif comm.rank == 1:
            sending = comm.isend(empty, 2)  # of the barrier's own shape
        comm.barrier()
        if comm.rank == 0:
            receiving.wait()
        elif comm.rank == 1:
            sending.wait()
        else:
            comm.send(torch.ones(2), 0)
            comm.recv(empty, 1)
        comm.barrier()
        return got.tolist()

    report = EXECUTORS[name](program, 3)
    assert report.results == [[1.0, 1.0], [0.0, 0.0], [0.0, 0.0]]
    assert report.trace.messages_sent == [4, 5, 5]


@pytest.mark.parametrize("name", EXECUTORS)
def test_a_barrier_that_a_rank_leaves_out_is_a_deadlock_at_that_line(name):
    def program(comm):
        if comm.rank:
            comm.barrier()  # rank 0 does not come

    with pytest.raises(DeadlockError, match=r"(?s)from 0, [^\n]*# rank 0 does not come.*finished already: rank 0"):
        EXECUTORS[name](program, 3)


def test_a_span_ends_with_its_block_even_when_that_raises():
    def program(comm):
        try:
            with comm.span("breaks"):
                comm.compute(2.0)
                raise ValueError
        except ValueError:
            return torch.ones(1).item()

    assert [(s.label, s.end_s) for s in simulate(program, 1).trace.spans] == [("compute", 2.0), ("breaks", 2.0)]


@pytest.mark.parametrize("name", EXECUTORS)
def test_a_span_may_be_entered_again_and_inside_itself(name):
    def program(comm):
        again = comm.span("again")
        with again, again:
            pass
        with again:
            pass

    assert [span.label for span in EXECUTORS[name](program, 1).trace.spans] == ["again"] * 3


@pytest.mark.parametrize("seconds", ["1", None, -1.0, float("nan"), [1]])
@pytest.mark.parametrize("name", EXECUTORS)
def test_seconds_that_are_none_are_refused_by_name(name, seconds):
    with pytest.raises(RankError, match=re.escape(f"seconds must be a number of 0 or more, rank 0 got {seconds!r}")):
        EXECUTORS[name](lambda comm: comm.compute(seconds), 1)


@pytest.mark.parametrize("deep", [False, True])
@pytest.mark.parametrize("name", EXECUTORS)
def test_a_generator_cannot_travel_back_and_is_refused_everywhere(name, deep):
    def program(comm):
        numbers = (number for number in range(3))
        return {"deep": [torch.ones(2), numbers]} if deep else numbers

    with pytest.raises(TransportError, match=r"what rank 0 returned cannot travel back: TypeError: .*generator"):
        EXECUTORS[name](program, 1)


@pytest.mark.parametrize("name", EXECUTORS)
def test_a_copy_of_a_communicator_is_itself(name):
    def program(comm):
        return copy.deepcopy([comm])[0] is comm, copy.deepcopy(comm.group([0])).rank

    assert EXECUTORS[name](program, 1).results == [(True, 0)]
