"""Which stacks simulated ranks get, why, and what they may do on them."""

import asyncio
import os
import signal
import sys
import threading

import cloudpickle
import pytest
import torch

from course_lib import CommError, DeadlockError, Network, RankError, simulate
from course_lib.collectives import ring_all_reduce

cloudpickle.register_pickle_by_value(sys.modules[__name__])  # as if these programs were written in a notebook

BOTH = pytest.mark.parametrize("ranks", ["greenlets", "threads"])


def shared() -> list:
    """A list that all ranks share, for programs that say what they did."""
    sys.modules.setdefault("_stacks", type(sys)("_stacks")).__dict__.setdefault("said", [])
    return sys.modules["_stacks"].said


def left_behind() -> list[str]:
    return [thread.name for thread in threading.enumerate() if thread.name.startswith("rank ")]


def meta() -> torch.Tensor:
    return torch.empty(100, device="meta")


def reduces_its_own_meta_tensor(comm):
    ring_all_reduce(comm, meta())
    return comm.rank


# Which, and why.


def first_receives(comm):
    work = comm.irecv(meta(), 1) if comm.rank == 0 else comm.isend(meta(), 0)
    work.wait()


def computes_before(comm):
    comm.compute(1.0)
    return reduces_its_own_meta_tensor(comm)


def sends_data(comm):
    ring_all_reduce(comm, torch.ones(4))
    ring_all_reduce(comm, meta())


def sends_under_no_grad(comm):
    with torch.no_grad():
        ring_all_reduce(comm, meta())


BEGINNINGS = {
    "a meta tensor of its own": (reduces_its_own_meta_tensor, "greenlets (the first message is a meta tensor)"),
    "a receive": (first_receives, "greenlets (the first message is a meta tensor)"),
    "data": (sends_data, "threads (the first message carries data)"),
    "computing": (computes_before, "threads (rank 0 did not begin with a message of a meta tensor)"),
    "no message": (lambda comm: None, "threads (rank 0 did not begin with a message of a meta tensor)"),
    "no_grad": (sends_under_no_grad, "threads (rank 0 did not begin with a message of a meta tensor)"),
}


@pytest.mark.parametrize(("program", "backend"), BEGINNINGS.values(), ids=BEGINNINGS)
def test_the_first_message_of_rank_0_says_which_stacks_suit(program, backend):
    assert simulate(program, 2).backend == f"simulator, {backend}"
    assert left_behind() == []


def test_an_argument_many_ranks_or_the_callers_word_say_it_before():
    assert simulate(lambda comm, t: None, 2, (meta(),)).backend == "simulator, greenlets (an argument is a meta tensor)"
    assert simulate(lambda comm: None, 257).backend == "simulator, greenlets (more than 256 ranks)"
    for ranks in ("greenlets", "threads"):
        assert simulate(reduces_its_own_meta_tensor, 3, ranks=ranks).backend == f"simulator, {ranks}"


@pytest.mark.parametrize("world_size", [2, 3, 8])
def test_a_program_that_becomes_greenlets_has_the_same_trace_and_does_nothing_twice(world_size):
    def program(comm):
        shared().append(comm.rank)
        draw = torch.rand(1).item()
        for _ in range(2):
            ring_all_reduce(comm, meta())
            comm.barrier()
        return draw

    reports = []
    for ranks in ("auto", "greenlets", "threads", "auto"):
        shared().clear()
        reports.append(simulate(program, world_size, network=Network(latency_s=1.0, jitter=0.2), ranks=ranks))
        assert shared() == list(range(world_size))
    for report in reports[1:]:
        assert report.results == reports[0].results
        assert report.trace.messages == reports[0].trace.messages
        assert (report.trace.waits, report.seconds) == (reports[0].trace.waits, reports[0].seconds)
    assert left_behind() == []


def test_what_a_rank_starts_runs_beside_it_after_it_became_a_greenlet():
    def program(comm):
        ring_all_reduce(comm, meta())
        work = comm.start(ring_all_reduce, meta())
        comm.compute(5.0)
        work.wait()
        return comm.now()

    report = simulate(program, 3, network=Network(latency_s=1.0))
    assert (report.results, report.backend[:20]) == ([9.0] * 3, "simulator, greenlets")


def deadlocks(comm):
    comm.isend(meta(), (comm.rank + 1) % 3)
    comm.recv(meta(), (comm.rank + 1) % 3)


def raises(comm):
    ring_all_reduce(comm, meta())
    if comm.rank == 1:
        raise ValueError("here")
    comm.barrier()


def loops(comm):
    ring_all_reduce(comm, meta())
    while comm.rank == 1:
        pass
    comm.barrier()


@pytest.mark.parametrize(("program", "error"), [(deadlocks, DeadlockError), (raises, RankError)])
def test_ranks_that_became_greenlets_are_unwound_after_an_error(program, error):
    def noted(comm):
        try:
            program(comm)
        finally:
            shared().append(comm.rank)

    shared().clear()
    with pytest.raises(error) as caught:
        simulate(noted, 3)
    assert program.__code__.co_filename in str(caught.value)
    assert sorted(shared()) == [0, 1, 2]
    assert left_behind() == []


def test_an_interrupt_ends_an_endless_loop_of_a_rank_that_became_a_greenlet():
    timer = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        simulate(loops, 3)
    timer.join()
    assert left_behind() == []


# What greenlets would mix up is refused.


async def meets(comm):
    comm.barrier()


def saving() -> torch.autograd.graph.saved_tensors_hooks:
    return torch.autograd.graph.saved_tensors_hooks(lambda tensor: tensor, lambda tensor: tensor)


def within(context):
    def program(comm):
        with context():
            comm.barrier()
        return comm.rank

    return program


MIXED_UP = {
    "no_grad": (within(torch.no_grad), "under no_grad or inference_mode"),
    "inference_mode": (within(torch.inference_mode), "under no_grad or inference_mode"),
    "autocast": (within(lambda: torch.autocast("cpu")), "inside torch.autocast"),
    "saved_tensors_hooks": (within(saving), "inside saved_tensors_hooks"),
    "a device": (within(lambda: torch.device("cpu")), r"inside torch.device\(...\)"),
    "asyncio": (lambda comm: asyncio.run(meets(comm)) or comm.rank, "inside asyncio's event loop"),
}


@pytest.mark.parametrize(("program", "words"), MIXED_UP.values(), ids=MIXED_UP)
def test_what_greenlets_would_mix_up_between_ranks_is_refused_and_threads_can_do_it(program, words):
    with pytest.raises(RankError, match=f'communicates {words}.*greenlets would mix up.*pass ranks="threads"'):
        simulate(program, 3, ranks="greenlets")
    assert simulate(program, 3, ranks="threads").results == [0, 1, 2]


@pytest.mark.parametrize("leave", [lambda: torch.set_grad_enabled(False), lambda: torch.set_default_device("meta")])
def test_what_a_greenlet_would_leave_to_the_next_rank_is_refused_and_not_left_to_the_caller(leave):
    def program(comm):
        if comm.rank == 0:
            leave()
        return torch.is_grad_enabled(), torch.ones(1).device.type

    with pytest.raises(RankError, match=r'rank 0 raised RuntimeError: this program ends .*pass ranks="threads"'):
        simulate(program, 2, ranks="greenlets")
    assert (torch.is_grad_enabled(), torch.ones(1).device.type) == (True, "cpu")
    assert simulate(program, 2, ranks="threads").results[1] == (True, "cpu")


@BOTH
def test_the_callers_own_context_is_no_reason_to_refuse(ranks):
    with torch.device("cpu"), torch.autocast("cpu"), torch.no_grad():
        assert simulate(lambda comm: comm.barrier(), 3, ranks=ranks).results == [None] * 3
        assert not torch.is_grad_enabled()


@BOTH
def test_the_default_dtype_is_the_callers_again_afterwards(ranks):
    def program(comm):
        torch.set_default_dtype(torch.float64)

    simulate(program, 2, ranks=ranks)
    assert torch.get_default_dtype() == torch.float32


# Whatever a rank raises, the simulation ends with it.


class Mute(Exception):
    def __str__(self) -> str:
        raise OSError("no words")


class Own(BaseException):
    pass


@BOTH
@pytest.mark.parametrize("error", [Mute, Own, asyncio.CancelledError, SystemExit, GeneratorExit])
@pytest.mark.parametrize("started", [False, True])
def test_every_kind_of_exception_ends_the_simulation_and_is_named(error, started, ranks):
    def fails(comm):
        comm.barrier()
        raise error

    def program(comm):
        comm.start(fails).wait() if started else fails(comm)

    with pytest.raises(CommError, match=rf"rank \d raised {error.__name__}"):
        simulate(program, 2, ranks=ranks)
    assert left_behind() == []


def test_an_exception_without_words_says_so():
    def program(comm):
        raise Mute

    with pytest.raises(RankError, match=r"raised Mute: \(its text cannot be had: __str__ raised OSError\)"):
        simulate(program, 2)


@BOTH
def test_a_program_may_catch_what_its_started_function_raised_whatever_it_is(ranks):
    def fails(comm):
        raise Own

    def program(comm):
        try:
            comm.start(fails).wait()
        except Own:
            return "caught"

    assert simulate(program, 2, ranks=ranks).results == ["caught"] * 2
