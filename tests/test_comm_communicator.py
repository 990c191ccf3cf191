"""What a rank can say, and how places in a program are named."""

import linecache
import sys

import cloudpickle
import pytest
import torch

from course_lib import Communicator, DeadlockError, Network, run, simulate
from course_lib.comm import communicator
from course_lib.comm.communicator import Place, adopt_cells, describe_line, is_ours, place_of
from course_lib.comm.processes import ProcessCommunicator

cloudpickle.register_pickle_by_value(sys.modules[__name__])  # as if these programs were written in a notebook

WORDS = {"rank", "world_size", "network", "send", "recv", "isend", "irecv", "barrier", "now", "compute", "span"}


def test_every_executor_offers_the_same_words():
    def program(comm):
        return {word for word in WORDS if hasattr(comm, word)}

    assert simulate(program, 1).results == run(program, 1).results == [WORDS]
    assert issubclass(ProcessCommunicator, Communicator)


def test_a_place_is_the_line_outside_of_this_library_that_led_here():
    place = place_of(sys._getframe())
    line = sys._getframe().f_lineno - 1
    assert place.file_and_line == (__file__, line)
    assert str(place) == f"{__file__}, line {line}: place = place_of(sys._getframe())"


def test_a_place_of_several_lines_is_the_line_that_runs():
    frame = [
        sys._getframe(),
        place_of(),
    ][1]
    assert frame.file_and_line[1] == test_a_place_of_several_lines_is_the_line_that_runs.__code__.co_firstlineno + 3


def test_code_of_this_library_alone_still_has_a_place():
    assert str(Place((describe_line.__code__, 0))).startswith(describe_line.__code__.co_filename)


def test_only_files_of_this_library_are_ours():
    assert is_ours(communicator.__file__)
    assert not is_ours(__file__)
    assert not is_ours("<string>")


def test_a_notebooks_cell_is_named_by_its_number_once_it_is_known(monkeypatch):
    monkeypatch.setattr(communicator, "_ADOPTED", {})
    name = "/tmp/ipykernel_1/234.py"
    monkeypatch.setitem(linecache.cache, name, (9, None, ["a = 1\n", "comm.send(a, 1)\n"], name))
    assert describe_line(name, 2) == "a cell, line 2: comm.send(a, 1)"
    adopt_cells({name: 7})
    assert describe_line(name, 2) == "cell [7], line 2: comm.send(a, 1)"


def test_a_line_whose_file_is_gone_is_named_without_its_text():
    assert describe_line("/no/such/file.py", 3) == "/no/such/file.py, line 3"


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
