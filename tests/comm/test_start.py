"""comm.start: functions that run beside the program, in order, on a wire of their own, under every executor."""

import asyncio
import sys
import time

import cloudpickle
import pytest
import torch
from torch import nn

from course_lib import DeadlockError, MismatchError, Network, RankError, RankTimeoutError, UnmatchedError, run, simulate
from course_lib.collectives import ring_all_reduce
from course_lib.comm.errors import Pending, deadlock_error

cloudpickle.register_pickle_by_value(sys.modules[__name__])  # as if these programs were written in a notebook

SLOW = Network(latency_s=1.0)
QUICK = Network(latency_s=1e-3)
EXECUTORS = {
    "threads": lambda program, world_size, args=(): simulate(program, world_size, args, network=QUICK, ranks="threads"),
    "greenlets": lambda *args: simulate(*args, network=QUICK, ranks="greenlets"),
    "real": lambda *args: run(*args, timeout_s=20.0),
    "emulated": lambda *args: run(*args, network=QUICK, timeout_s=20.0),
}
ALL = pytest.mark.parametrize("execute", EXECUTORS.values(), ids=EXECUTORS)
BOTH = pytest.mark.parametrize("ranks", ["greenlets", "threads"])


def one(value: float = 0.0) -> torch.Tensor:
    return torch.tensor([float(value)])


def right(comm) -> int:
    return (comm.rank + 1) % comm.world_size


def pass_on(comm, value: float) -> float:
    """Send a number to the right and return the one from the left."""
    if comm.world_size == 1:
        return value
    got, sent = one(), comm.isend(one(value), right(comm))
    comm.recv(got, (comm.rank - 1) % comm.world_size)
    sent.wait()
    return got.item()


def busy(comm) -> tuple:
    """Three all-reduces beside a program that sends messages and meets at barriers of its own."""
    sums = [torch.full((5,), 10.0**power * (comm.rank + 1)) for power in range(3)]
    works, got = [], []
    for number, tensor in enumerate(sums):
        works.append(comm.start(ring_all_reduce, tensor))
        got.append(pass_on(comm, 100 * comm.rank + number))
        comm.start(lambda beside: beside.barrier())
        comm.barrier()
    for work in reversed(works):
        work.wait()
    return [tensor.unique().tolist() for tensor in sums], got


# The law: right sums beside the program's own messages.


@ALL
@pytest.mark.parametrize("world_size", [1, 2, 3, 4, 5])
def test_all_reduces_beside_a_program_that_sends_give_the_sums(execute, world_size):
    total = world_size * (world_size + 1) / 2
    for rank, (sums, got) in enumerate(execute(busy, world_size).results):
        assert sums == [[total], [10 * total], [100 * total]]
        assert got == [100 * ((rank - 1) % world_size) + number for number in range(3)]


@pytest.mark.parametrize("world_size", [2, 3])
def test_every_executor_counts_the_same_messages_and_steps(world_size):
    def counted(trace) -> list:
        return sorted((m.src, m.dst, m.message_bytes, m.step) for m in trace.messages)

    counts = [counted(execute(busy, world_size).trace) for execute in EXECUTORS.values()]
    assert counts == [counts[0]] * len(counts)


@ALL
def test_messages_of_program_and_started_function_never_meet(execute):
    def program(comm):
        if comm.rank == 0:
            work = comm.start(lambda beside: beside.send(one(1), 1))
            comm.compute(1e-3)
            comm.send(one(2), 1)
            work.wait()
            return None
        mine, theirs = one(), one()
        sender = comm.recv(mine)  # from anyone, and yet not from the function that started before
        work = comm.start(lambda beside: beside.recv(theirs))
        work.wait()
        return sender, mine.item(), work.result, theirs.item()

    assert execute(program, 2).results[1] == (0, 2.0, 0, 1.0)


@BOTH
def test_the_same_program_gives_the_same_trace_to_the_last_bit(ranks):
    def program(comm):
        comm.compute(0.1 * comm.rank)
        return busy(comm)

    network = Network(latency_s=1e-3, bytes_per_s=1e6, jitter=0.3, seed=1)
    first, second = (simulate(program, 4, network=network, ranks=ranks) for _ in range(2))
    assert first.trace.messages == second.trace.messages
    assert [(s, s.stream) for s in first.trace.waits] == [(s, s.stream) for s in second.trace.waits]
    assert {s.stream for s in first.trace.waits} == {"", "started"}


# Time.


def overlapping(comm, seconds: float = 1.0) -> tuple[float, float]:
    work = comm.start(ring_all_reduce, torch.ones(2))
    began_s = comm.now()
    comm.compute(seconds)
    work.wait()
    return began_s, comm.now()


@BOTH
def test_a_second_of_all_reduce_beside_a_second_of_work_takes_one_second(ranks):
    report = simulate(overlapping, 2, network=Network(latency_s=0.5), ranks=ranks)
    assert (report.results, report.seconds) == ([(0.0, 1.0)] * 2, 1.0)
    short = simulate(overlapping, 2, (0.25,), network=Network(latency_s=0.5), ranks=ranks)
    assert short.seconds == 1.0
    waits = sorted(tuple(wait) for wait in short.trace.waits if not wait.stream)
    assert waits == [(r, "wait", 0.25, 1.0) for r in (0, 1)]
    assert simulate(overlapping, 2, (4.0,), network=Network(latency_s=0.5), ranks=ranks).seconds == 4.0


@pytest.mark.clock
@pytest.mark.parametrize("seconds", [0.01, 0.04, 0.07])
def test_on_slowed_links_it_takes_as_long_as_simulated(seconds):
    network, differences = Network(latency_s=0.02), []
    for _ in range(8):  # a busy machine stretches the processor time that an emulated clock counts
        emulated = run(overlapping, 2, (seconds,), network=network)
        simulated = simulate(overlapping, 2, (seconds,), network=network)
        differences.append(abs(emulated.seconds - simulated.seconds))
        if differences[-1] < 0.05 * simulated.seconds + 0.002:
            return
    raise AssertionError(differences)


def test_on_slowed_links_a_started_all_reduce_is_under_way_beside_the_work():
    report = run(overlapping, 2, (0.5,), network=Network(latency_s=0.02))
    work = {span.rank: span for span in report.trace.spans if span.label == "compute" and not span.stream}
    assert len(report.trace.messages) == 4
    assert all(message.start_s < work[message.src].end_s for message in report.trace.messages)


@BOTH
def test_started_functions_run_one_after_the_other_on_their_own_clock(ranks):
    def program(comm):
        first = comm.start(lambda beside: beside.compute(2.0) or beside.now())
        comm.compute(1.0)
        second = comm.start(lambda beside: (beside.now(), beside.compute(3.0), beside.now()))
        comm.compute(9.0)
        third = comm.start(lambda beside: beside.now())
        for work in (first, second, third):
            work.wait()
        return first.result, second.result, third.result, comm.now()

    report = simulate(program, 1, ranks=ranks)
    assert report.results == [(2.0, (2.0, None, 5.0), 10.0, 10.0)]
    own = [(s.start_s, s.end_s) for s in report.trace.spans if not s.stream]
    beside = [(s.start_s, s.end_s) for s in report.trace.spans if s.stream == "started"]
    assert (own, beside) == ([(0.0, 1.0), (1.0, 10.0)], [(0.0, 2.0), (2.0, 5.0)])


def test_both_share_the_ranks_ports():
    def program(comm):
        if comm.rank == 0:
            comm.start(lambda beside: beside.send(one(), 1))
            comm.compute(0.5)
            comm.send(one(), 2)
        elif comm.rank == 1:
            comm.start(lambda beside: beside.recv(one(), 0))
        else:
            comm.recv(one(), 0)

    trace = simulate(program, 3, network=SLOW).trace
    assert [(m.start_s, m.end_s) for m in trace.messages] == [(0.0, 1.0), (1.0, 2.0)]


def test_steps_go_through_start_and_wait_and_nowhere_else():
    def program(comm):
        pass_on(comm, 0)  # step 1
        comm.start(pass_on, 1)  # step 2
        work = comm.start(pass_on, 2)  # step 3
        pass_on(comm, 3)  # step 2 as well
        work.wait()
        pass_on(comm, 4)  # step 4
        comm.start(pass_on, 5)  # step 5

    for execute in EXECUTORS.values():
        assert sorted(m.step for m in execute(program, 2).trace.messages) == [1, 1, 2, 2, 2, 2, 3, 3, 4, 4, 5, 5]


# Results, order and ends.


@ALL
def test_functions_run_in_the_order_of_their_start(execute):
    def program(comm):
        said = []
        for number in range(20):
            comm.start(lambda beside, number: said.append(number), number)
        comm.start(lambda beside: beside.barrier()).wait()
        return said

    assert execute(program, 2).results == [list(range(20))] * 2


@ALL
def test_a_program_that_does_not_wait_ends_after_what_it_started(execute):
    def program(comm):
        tensor = torch.ones(3)
        comm.start(ring_all_reduce, tensor)
        comm.start(ring_all_reduce, tensor)
        return tensor

    assert [tensor.tolist() for tensor in execute(program, 3).results] == [[9.0] * 3] * 3


@ALL
def test_arguments_arrive_and_what_is_returned_is_the_result(execute):
    def program(comm):
        work = comm.start(lambda beside, a, b=0: (beside.rank, a, b), 1, b=2)
        assert work.wait() is True
        assert work.wait() is True
        return work.result

    assert execute(program, 2).results == [(0, 1, 2), (1, 1, 2)]


def test_a_result_is_not_there_before_the_end_and_no_rank_has_sent_it():
    def program(comm):
        work = comm.start(lambda beside: beside.compute(1.0))
        texts = []
        for ask in (lambda: work.result, work.source_rank):
            with pytest.raises(RuntimeError) as error:
                ask()
            texts.append(str(error.value))
        return texts

    early, sender = simulate(program, 1).results[0]
    assert early == "the result of a started function is known after wait()"
    assert sender == "a started function comes from no other rank"


@pytest.mark.parametrize("name", ["threads", "real", "emulated"])
def test_hooks_start_all_reduces_inside_the_backward_pass(name):
    def program(comm):
        def hook(parameter) -> None:
            works.append(comm.start(ring_all_reduce, parameter.grad))
            pass_on(comm, 1)

        layers, works = nn.Sequential(nn.Linear(2, 2, bias=False), nn.Linear(2, 1, bias=False)), []
        for parameter in layers.parameters():
            nn.init.ones_(parameter)
            parameter.register_post_accumulate_grad_hook(hook)
        layers(torch.full((1, 2), comm.rank + 1.0)).sum().backward()
        for work in works:
            work.wait()
        return [parameter.grad.unique().tolist() for parameter in layers.parameters()]

    assert EXECUTORS[name](program, 3).results == [[[6.0], [12.0]]] * 3


@pytest.mark.parametrize("name", ["threads", "real", "emulated"])
def test_started_functions_record_no_gradients(name):
    def program(comm):
        parameter = nn.Parameter(torch.ones(2))
        comm.start(ring_all_reduce, parameter).wait()  # in place on a leaf
        doubled = comm.start(lambda beside: parameter * 2)
        doubled.wait()
        return parameter.tolist(), doubled.result.requires_grad, torch.is_grad_enabled()

    assert EXECUTORS[name](program, 2).results == [([2.0, 2.0], False, True)] * 2


# What goes wrong.


@ALL
def test_wait_raises_what_the_function_raised_with_its_line_and_the_program_may_catch_it(execute):
    def broken(beside):
        raise ArithmeticError("no sum today")

    def program(comm, catch):
        work = comm.start(broken)
        try:
            work.wait()
        except ArithmeticError as error:
            if catch:
                return str(error)
            raise

    assert execute(program, 2, (True,)).results == ["no sum today"] * 2
    with pytest.raises(RankError, match='raise ArithmeticError\\("no sum today"\\)') as error:
        execute(program, 2, (False,))
    assert error.value.cause_type == "ArithmeticError"
    assert "work = comm.start(broken)" in str(error.value)


@ALL
def test_an_error_nobody_waited_for_is_raised_at_the_end(execute):
    def program(comm):
        comm.start(lambda beside: 1 / 0)
        return "done"

    with pytest.raises(RankError, match="ZeroDivisionError"):
        execute(program, 2)


@ALL
def test_what_a_started_function_raised_explains_why_others_wait_in_vain(execute):
    def program(comm):
        work = comm.start(lambda beside: 1 / 0 if beside.rank == 0 else beside.recv(one(), 0))
        if comm.rank == 0:
            comm.recv(one(), 1)
        work.wait()
        if comm.rank == 1:
            comm.send(one(), 0)

    with pytest.raises(RankError, match="rank 0 raised ZeroDivisionError"):
        execute(program, 2)


@ALL
def test_a_deadlock_names_programs_and_started_functions_with_their_lines_and_the_circle(execute):
    def program(comm):
        if comm.rank == 2:
            comm.recv(one(), 0)  # starts too late
        work = comm.start(lambda beside: beside.recv(one(), right(beside)))
        work.wait()

    with pytest.raises(DeadlockError) as error:
        execute(program, 3)
    lines = str(error.value).splitlines()
    assert [line.split(", /")[0].strip() for line in lines[1:6]] == [
        "rank 0 waits for a function it started",
        "rank 0, in a function it started, waits in recv from 1",
        "rank 1 waits for a function it started",
        "rank 1, in a function it started, waits in recv from 2",
        "rank 2 waits in recv from 0",
    ]
    ends = ["work.wait()", "beside.recv(one(), right(beside)))"] * 2 + ["comm.recv(one(), 0)  # starts too late"]
    assert all(line.endswith(end) for line, end in zip(lines[1:6], ends, strict=True))
    assert lines[6].strip() == "the circle: 0 -> 1 -> 2 -> 0"


@ALL
def test_a_started_function_of_the_library_that_waits_in_vain_has_the_line_of_its_start(execute):
    def program(comm):
        if comm.rank == 0:
            comm.start(ring_all_reduce, torch.ones(4))

    with pytest.raises(DeadlockError) as error:
        execute(program, 2)
    assert str(error.value).count("comm.start(ring_all_reduce, torch.ones(4))") == 2
    assert "finished already: rank 1" in str(error.value)


@ALL
def test_messages_of_a_started_function_that_nobody_takes_are_unmatched(execute):
    def program(comm):
        if comm.rank == 0:
            comm.start(lambda beside: beside.isend(one(), 1) and None)
        else:
            comm.irecv(one(), 0)

    with pytest.raises(UnmatchedError, match="rank 0: isend to 1") as error:
        execute(program, 2)
    assert "rank 1: irecv from 0" in str(error.value)


@ALL
def test_messages_of_two_shapes_in_started_functions_are_a_mismatch(execute):
    def program(comm):
        comm.start(lambda beside: beside.recv(torch.ones(2), 1) if beside.rank == 0 else beside.send(torch.ones(3), 0))

    with pytest.raises(MismatchError, match=r"rank 1 sends torch.float32 of shape \(3,\) to 0"):
        execute(program, 2)


@ALL
def test_a_started_function_uses_only_the_communicator_it_gets(execute):
    def program(comm):
        comm.start(lambda beside: pass_on(comm, 1))
        comm.barrier()

    with pytest.raises(RankError, match="only the communicator that it gets as its first argument"):
        execute(program, 2)


@ALL
def test_a_started_function_starts_no_other(execute):
    with pytest.raises(RankError, match="rank 0: a started function cannot start another one"):
        execute(lambda comm: comm.start(lambda beside: beside.start(print)), 1)


def test_what_cannot_be_called_is_refused():
    with pytest.raises(RankError, match=r"start needs a function of \(comm, ...\), rank 0 got Tensor"):
        simulate(lambda comm: comm.start(torch.ones(1)), 1)


@pytest.mark.parametrize("network", [None, QUICK])
def test_a_hang_in_a_started_function_ends_with_the_timeout_that_says_what_is_pending(network):
    def program(comm):
        work = comm.start(lambda beside: beside.recv(one(), 1) if beside.rank == 0 else time.sleep(60))
        work.wait()

    with pytest.raises(RankTimeoutError) as error:
        run(program, 2, network=network, timeout_s=1.5)
    assert "rank 0, in a function it started, waits in recv from 1" in str(error.value)
    assert "rank 1 waits for a function it started" in str(error.value)


@pytest.mark.parametrize("network", [None, QUICK])
def test_a_started_function_at_work_is_no_deadlock(network):
    def program(comm):
        def late(beside):
            time.sleep(0.9)
            beside.send(one(), 0)

        comm.start(late if comm.rank else lambda beside: beside.recv(one(), 1)).wait()
        return comm.rank

    assert run(program, 2, network=network).results == [0, 1]


def test_the_circle_goes_through_programs_that_have_started_nothing():
    waits = {0: Pending("join", None, "a"), 1: Pending("recv", 0, "b"), 2: Pending("recv", 1, "c")}
    error = str(deadlock_error(waits, [], {0: Pending("recv", 1, "d")}))
    assert "rank 0, in a function it started, waits in recv from 1, d" in error
    assert "the circle: 0 -> 1 -> 0" in error


@pytest.mark.parametrize("raised", [KeyboardInterrupt, asyncio.CancelledError])
def test_what_is_no_exception_ends_a_started_function_and_not_its_thread(raised):
    def fails(comm):
        raise raised  # in the function

    def program(comm):
        first, second = comm.start(fails), comm.start(lambda comm: comm.rank)
        with pytest.raises(raised):
            first.wait()
        second.wait()
        return second.result

    assert run(program, 2).results == [0, 1]
    with pytest.raises(RankError, match=f"(?s)raised {raised.__name__}.*# in the function"):
        run(lambda comm: comm.start(fails), 2)
