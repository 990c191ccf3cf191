"""simulate(): the same for everyone, alone with its data, and never stuck."""

import concurrent.futures
import gc
import os
import random
import signal
import sys
import threading

import cloudpickle
import numpy as np
import pytest
import torch

from course_lib import (
    CommError,
    DeadlockError,
    MismatchError,
    Network,
    RankError,
    TransportError,
    UnmatchedError,
    run,
    simulate,
)
from course_lib.collectives import direct_all_reduce

cloudpickle.register_pickle_by_value(sys.modules[__name__])  # as if these programs were written in a notebook

BOTH = pytest.mark.parametrize("ranks", ["greenlets", "threads"])
SLOW = Network(latency_s=1.0, bytes_per_s=100.0)


def one(value: float = 0.0) -> torch.Tensor:
    return torch.tensor([float(value)])


def peers(comm) -> tuple[int, int]:
    return (comm.rank + 1) % comm.world_size, (comm.rank - 1) % comm.world_size


def ring_sum(comm, tensor):
    """Pass every tensor once round the ring and add; returns the sum."""
    right, left = peers(comm)
    total, passing = tensor.clone(), tensor.clone()
    for _ in range(comm.world_size - 1):
        incoming = torch.empty_like(tensor)
        sending = comm.isend(passing, right)
        comm.recv(incoming, left)
        sending.wait()
        total, passing = total + incoming, incoming
    return total


def busy_ring(comm, tensor):
    """A ring among ranks that compute for random times and meet at barriers and any-source receives."""
    for _ in range(3):
        comm.compute(random.random() + float(torch.rand(1)) + float(np.random.rand()))  # noqa: NPY002
        with comm.span("ring"):
            ring_sum(comm, tensor)
        comm.barrier()
    if comm.rank == 0:
        return [comm.recv(one()) for _ in range(comm.world_size - 1)]
    comm.compute(random.random())
    return comm.send(one(), 0)


def as_tuple(report):
    trace = report.trace
    messages = [tuple(getattr(m, name) for name in m.__slots__) for m in trace.messages]
    return messages, trace.spans, trace.waits, report.seconds, report.results


NETWORKS = {
    "plain": SLOW,
    "jitter": Network(latency_s=0.1, jitter=0.3, seed=5),
    "stragglers": Network(latency_s=0.1, bytes_per_s=1e3, stragglers={1: 3.0}, slow_links={(2, 3): 7.0}),
    "free": Network(),
}


# Equal inputs, equal traces.


@BOTH
@pytest.mark.parametrize("name", NETWORKS)
def test_the_same_program_gives_the_same_trace_to_the_last_bit(name, ranks):
    first, second = (simulate(busy_ring, 5, (torch.ones(7),), network=NETWORKS[name], ranks=ranks) for _ in range(2))
    assert as_tuple(first) == as_tuple(second)


@pytest.mark.parametrize("name", NETWORKS)
def test_greenlets_and_threads_give_the_same_trace(name):
    one_way, other_way = (
        simulate(busy_ring, 5, (torch.ones(7),), network=NETWORKS[name], ranks=ranks)
        for ranks in ("greenlets", "threads")
    )
    assert as_tuple(one_way) == as_tuple(other_way)


def test_another_seed_of_the_jitter_gives_another_trace():
    traces = [simulate(ring_sum, 3, (one(),), network=Network(latency_s=1.0, jitter=0.1, seed=s)).trace for s in (0, 1)]
    assert traces[0].messages != traces[1].messages


# Messages carry their payload, and time is what the network says.


@BOTH
@pytest.mark.parametrize("world_size", [1, 2, 3, 8])
@pytest.mark.parametrize("length", [0, 1, 7])
def test_every_rank_receives_what_the_others_sent(world_size, length, ranks):
    def program(comm):
        return ring_sum(comm, torch.arange(length, dtype=torch.int64) + 10**comm.rank)

    expected = torch.arange(length) * world_size + (10**world_size - 1) // 9
    assert all(torch.equal(result, expected) for result in simulate(program, world_size, ranks=ranks).results)


def test_a_ring_on_a_plain_network_takes_its_steps_times_the_time_of_one():
    report = simulate(ring_sum, 4, (torch.zeros(25),), network=SLOW)
    assert report.seconds == report.trace.seconds == 3 * (1.0 + 100 / 100)
    assert report.trace.steps == 3


def test_computing_takes_virtual_time_and_a_straggler_takes_longer():
    network = Network(stragglers={2: 4.0})
    assert simulate(lambda comm: comm.compute(1.5) or comm.now(), 3, network=network).results == [1.5, 1.5, 6.0]


def test_computing_and_a_message_under_way_take_place_at_the_same_time():
    def program(comm):
        work = comm.isend(one(), 1) if comm.rank == 0 else comm.irecv(one(), 0)
        comm.compute(5.0)
        work.wait()
        return comm.now()

    assert simulate(program, 2, network=Network(latency_s=3.0)).results == [5.0, 5.0]
    assert simulate(program, 2, network=Network(latency_s=8.0)).results == [8.0, 8.0]


def test_a_barrier_lets_nobody_go_before_the_last_has_come():
    def program(comm):
        comm.compute(float(comm.rank))
        comm.barrier()
        return comm.now()

    assert simulate(program, 5).results == [4.0] * 5


@BOTH
def test_recv_from_anyone_says_who_sent(ranks):
    def program(comm):
        if comm.rank:
            comm.compute(float(comm.world_size - comm.rank))
            return comm.send(one(comm.rank), 0)
        tensor, seen = one(), []
        for _ in range(comm.world_size - 1):
            seen.append((comm.recv(tensor), int(tensor)))
        return seen

    assert simulate(program, 4, ranks=ranks).results[0] == [(3, 3), (2, 2), (1, 1)]


@BOTH
def test_what_is_sent_stays_as_it_was_whatever_its_sender_writes_before_the_receiver_waits(ranks):
    def program(comm):
        tensor = one(7) if comm.rank == 0 else one()
        work = comm.isend(tensor, 1) if comm.rank == 0 else comm.irecv(tensor, 0)
        comm.compute(2.0 * comm.rank)
        work.wait()
        return tensor.fill_(9).item() if comm.rank == 0 else tensor.item()

    assert simulate(program, 2, network=Network(), ranks=ranks).results == [9, 7]


@BOTH
def test_works_may_be_waited_for_in_any_order_and_twice(ranks):
    def program(comm):
        if comm.rank == 0:
            works = [comm.isend(one(number), 1) for number in range(3)]
        else:
            tensors = [one(), one(), one()]
            works = [comm.irecv(tensor, 0) for tensor in tensors]
        for work in reversed(works):
            assert work.wait()
            work.wait()
        return comm.rank and [float(tensor) for tensor in tensors]

    assert simulate(program, 2, network=SLOW, ranks=ranks).results[1] == [0.0, 1.0, 2.0]


def test_messages_that_nobody_waits_for_are_in_the_trace_all_the_same():
    def program(comm):
        for _ in range(3):
            comm.isend(one(), 1) if comm.rank == 0 else comm.irecv(one(), 0)

    assert simulate(program, 2, network=SLOW).trace.messages_sent == [3, 0]


def test_meta_tensors_are_messages_without_payload():
    report = simulate(ring_sum, 6, (torch.empty(10**12, device="meta"),), network=Network(bytes_per_s=1e9))
    assert report.trace.total_bytes == 6 * 5 * 4 * 10**12
    assert report.seconds == 5 * 4e3
    assert report.backend == "simulator, greenlets (an argument is a meta tensor)"


def test_a_thousand_ranks_on_meta_tensors():
    def pairs(comm, tensor):
        for distance in (1, 7):
            work = comm.isend(tensor, (comm.rank + distance) % comm.world_size)
            comm.recv(tensor, (comm.rank - distance) % comm.world_size)
            work.wait()

    report = simulate(pairs, 1024, (torch.empty(100, device="meta"),), network=SLOW)
    assert report.trace.messages_received == [2] * 1024
    assert report.seconds == 2 * 5.0


# Ranks share nothing.


@BOTH
def test_a_rank_that_changes_its_argument_changes_nobody_elses(ranks):
    tensor, table = torch.zeros(3), {"list": [1]}

    def program(comm, tensor, table):
        tensor += comm.rank
        table["list"].append(comm.rank)
        comm.barrier()
        return tensor.tolist(), table["list"]

    results = simulate(program, 3, (tensor,), {"table": table}, ranks=ranks).results
    assert results == [([float(r)] * 3, [1, r]) for r in range(3)]
    assert (tensor.tolist(), table) == ([0.0] * 3, {"list": [1]})


@BOTH
def test_closures_and_globals_belong_to_one_rank(ranks):
    namespace = {"counter": [0]}
    exec("def program(comm):\n  counter.append(comm.rank)\n  comm.barrier()\n  return counter", namespace)
    captured = torch.zeros(1)

    def closure(comm):
        captured.add_(comm.rank + 1)
        comm.barrier()
        return float(captured)

    assert simulate(namespace["program"], 3, ranks=ranks).results == [[0, r] for r in range(3)]
    assert simulate(closure, 3, ranks=ranks).results == [1.0, 2.0, 3.0]
    assert (namespace["counter"], float(captured)) == ([0], 0.0)


# What cannot go on is named at once.


@BOTH
def test_a_circle_of_receives_is_named_with_every_line(ranks):
    def program(comm):
        comm.recv(one(), peers(comm)[1])  # everyone waits for the left
        comm.send(one(), peers(comm)[0])

    with pytest.raises(DeadlockError) as error:
        simulate(program, 3, ranks=ranks)
    text = str(error.value)
    for rank in range(3):
        assert f"rank {rank} waits in recv from {(rank - 1) % 3}, {__file__}" in text
    assert "comm.recv(one(), peers(comm)[1])  # everyone waits for the left" in text
    assert "the circle: 0 -> 2 -> 1 -> 0" in text


@BOTH
@pytest.mark.parametrize("length", [0, 1, 10**6])
def test_two_sends_to_each_other_wait_forever_whatever_their_size(length, ranks):
    def program(comm):
        comm.send(torch.zeros(length), 1 - comm.rank)
        comm.recv(torch.zeros(length), 1 - comm.rank)

    with pytest.raises(DeadlockError, match="rank 0 waits in send to 1"):
        simulate(program, 2, ranks=ranks)


@BOTH
def test_waiting_for_a_rank_that_has_finished_is_named(ranks):
    with pytest.raises(DeadlockError, match=r"(?s)rank 0 waits in recv from 2.*finished already: ranks 1, 2"):
        simulate(lambda comm: comm.rank or comm.recv(one(), 2), 3, ranks=ranks)


def test_a_receive_from_anyone_that_nobody_answers_is_named():
    with pytest.raises(DeadlockError, match="rank 1 waits in recv from anyone"):
        simulate(lambda comm: comm.rank and comm.recv(one()), 2)


def test_a_wait_for_an_isend_is_named_as_wait():
    with pytest.raises(DeadlockError, match="rank 0 waits in wait for isend to 1"):
        simulate(lambda comm: comm.rank or comm.isend(one(), 1).wait(), 2)


def test_a_deadlock_of_a_thousand_ranks_is_told_in_twenty_lines():
    with pytest.raises(DeadlockError, match="and 1008 more ranks") as error:
        simulate(lambda comm: comm.recv(one(), peers(comm)[0]), 1024)
    assert len(str(error.value).splitlines()) < 20


@BOTH
def test_messages_left_over_are_an_error_that_names_them(ranks):
    def program(comm):
        if comm.rank == 0:
            comm.isend(one(), 1)  # nobody receives this
            comm.irecv(one(), 1)

    with pytest.raises(UnmatchedError) as error:
        simulate(program, 2, ranks=ranks)
    text = str(error.value)
    assert "rank 0: isend to 1" in text
    assert "comm.isend(one(), 1)  # nobody receives this" in text
    assert "rank 0: irecv from 1" in text


@BOTH
@pytest.mark.parametrize("sent", [torch.zeros(3), torch.zeros(2, dtype=torch.int32), torch.zeros(1, 2)])
def test_sides_that_disagree_are_named_with_both_lines(sent, ranks):
    def program(comm):
        if comm.rank == 0:
            comm.send(sent, 1)
        else:
            comm.recv(torch.zeros(2), 0)

    with pytest.raises(MismatchError) as error:
        simulate(program, 2, ranks=ranks)
    text = str(error.value)
    assert f"rank 0 sends {sent.dtype} of shape {tuple(sent.shape)} to 1" in text
    assert "rank 1 receives torch.float32 of shape (2,) from 0" in text
    assert "comm.send(sent, 1)" in text
    assert "comm.recv(torch.zeros(2), 0)" in text


@BOTH
@pytest.mark.parametrize("without", ["sender", "receiver"])
def test_a_meta_tensor_at_one_end_only_is_a_mismatch_with_both_lines(without, ranks):
    def program(comm):
        device = "meta" if (comm.rank == 0) == (without == "sender") else "cpu"
        if comm.rank == 0:
            comm.send(torch.zeros(2, device=device), 1)
        elif comm.rank == 1:
            comm.recv(torch.zeros(2, device=device), 0)
        else:
            comm.recv(torch.zeros(2), 0)

    with pytest.raises(MismatchError, match="without payload") as error:
        simulate(program, 3, ranks=ranks)
    assert "comm.send(torch.zeros(2, device=device), 1)" in str(error.value)
    assert "comm.recv(torch.zeros(2, device=device), 0)" in str(error.value)


def test_a_sender_in_the_library_that_has_gone_on_is_named_by_the_programs_line():
    def program(comm):
        if comm.rank == 0:
            direct_all_reduce(comm, torch.zeros(2))  # of two numbers
        elif comm.rank == 1:
            comm.compute(1.0)
            direct_all_reduce(comm, torch.zeros(3))  # of three numbers

    with pytest.raises(MismatchError) as error:
        simulate(program, 2)
    assert "direct_all_reduce(comm, torch.zeros(2))  # of two numbers" in str(error.value)
    assert "direct_all_reduce(comm, torch.zeros(3))  # of three numbers" in str(error.value)


@BOTH
def test_the_source_of_a_message_is_not_known_before_it_has_arrived(ranks):
    def program(comm):
        if comm.rank == 0:
            comm.isend(one(), 1).wait()
        else:
            return comm.irecv(one()).source_rank()

    with pytest.raises(RankError, match=r"rank 1 raised RuntimeError: source_rank\(\) is known after wait\(\)"):
        simulate(program, 2, ranks=ranks)


def draws(comm):
    drawn = []
    for _ in range(20):
        comm.barrier()
        drawn.append((float(torch.rand(1)), random.random(), float(np.random.rand())))  # noqa: NPY002
    return drawn


@BOTH
def test_simulations_in_several_threads_give_what_each_gives_alone(ranks):
    alone = simulate(draws, 3, ranks=ranks).results
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        together = list(pool.map(lambda _: simulate(draws, 3, ranks=ranks).results, range(8)))
    assert together == [alone] * 8


# A rank that raises ends the others.


@BOTH
def test_an_exception_is_reported_with_the_programs_own_line_first(ranks):
    def program(comm):
        comm.barrier()
        if comm.rank == 1:
            raise KeyError("the key")  # here
        comm.recv(one(), 1)

    with pytest.raises(RankError) as error:
        simulate(program, 3, ranks=ranks)
    assert (error.value.rank, error.value.cause_type, error.value.cause_text) == (1, "KeyError", "'the key'")
    text = str(error.value)
    assert text.splitlines()[0] == "rank 1 raised KeyError: 'the key'"
    assert 'raise KeyError("the key")  # here' in text.splitlines()[1]
    assert "comm/simulator.py" not in text


def unwound() -> list:
    """A list that all ranks share, for programs that say when they are unwound."""
    sys.modules.setdefault("_unwound", type(sys)("_unwound")).__dict__.setdefault("ranks", [])
    return sys.modules["_unwound"].ranks


@BOTH
@pytest.mark.parametrize("ending", ["an exception", "a deadlock", "a mismatch"])
@pytest.mark.parametrize("parting", ["nothing", "a message"])
def test_finally_blocks_of_all_ranks_run(ending, parting, ranks):
    unwound().clear()

    def program(comm):
        comm.barrier()
        try:
            if comm.rank == 1 and ending != "a deadlock":
                comm.compute(1.0)
                comm.send(torch.zeros(2), 0) if ending == "a mismatch" else comm.undefined()
            comm.recv(one(), 1 - comm.rank if comm.rank < 2 else 0)
        finally:
            unwound().append(comm.rank)
            if parting == "a message":
                comm.recv(one(), (comm.rank + 1) % 3)

    with pytest.raises(CommError):
        simulate(program, 3, ranks=ranks)
    assert sorted(unwound()) == [0, 1, 2]
    assert left_behind() == []


def left_behind() -> list[str]:
    return [thread.name for thread in threading.enumerate() if thread.name.startswith("rank ")]


@BOTH
def test_a_program_that_catches_every_exception_does_not_keep_the_others_alive(ranks):
    def program(comm):
        try:
            comm.recv(one(), peers(comm)[0])
        except Exception:
            return "swallowed"

    with pytest.raises(DeadlockError):
        simulate(program, 2, ranks=ranks)
    assert left_behind() == []


@BOTH
def test_an_interrupt_ends_an_endless_loop_and_leaves_no_rank(ranks):
    def program(comm):
        while comm.rank == 1:
            pass
        comm.recv(one(), 1)

    timer = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        simulate(program, 2, ranks=ranks)
    timer.join()
    assert left_behind() == []


# Autograd.


def scaled_gradients(comm, weight):
    """A backward pass in which every rank adds up the gradients of all: what data-parallel training does."""
    weight.requires_grad_()
    weight.register_hook(lambda gradient: ring_sum(comm, gradient))
    (weight * (comm.rank + 1)).sum().backward()
    return weight.grad


def test_a_backward_pass_may_communicate_when_ranks_are_threads():
    results = simulate(scaled_gradients, 4, (torch.ones(3),), ranks="threads").results
    assert [result.tolist() for result in results] == [[10.0] * 3] * 4
    assert simulate(scaled_gradients, 4, (torch.ones(3),)).backend.startswith("simulator, threads")


def test_a_backward_pass_that_communicates_under_greenlets_is_told_to_use_threads():
    with pytest.raises(RankError, match='pass ranks="threads"'):
        simulate(scaled_gradients, 4, (torch.ones(3),), ranks="greenlets")


def test_gradients_are_off_in_one_rank_only():
    def program(comm):
        with torch.no_grad() if comm.rank == 0 else torch.enable_grad():
            comm.barrier()
            return torch.is_grad_enabled()

    assert simulate(program, 3, ranks="threads").results == [False, True, True]
    with pytest.raises(RankError, match='pass ranks="threads"'):
        simulate(program, 3, ranks="greenlets")


@BOTH
def test_a_program_starts_with_gradients_on_even_where_the_caller_turned_them_off(ranks):
    with torch.no_grad():
        results = simulate(lambda comm: comm.barrier() or torch.is_grad_enabled(), 2, ranks=ranks).results
        assert not torch.is_grad_enabled()
    assert results == [True, True]


@BOTH
def test_a_tensor_that_needs_gradients_may_be_sent_and_received_into(ranks):
    def program(comm):
        tensor = torch.full((2,), float(comm.rank), requires_grad=True)
        comm.send(tensor, 1) if comm.rank == 0 else comm.recv(tensor, 0)
        return tensor.tolist(), tensor.requires_grad

    assert simulate(program, 2, ranks=ranks).results[1] == ([0.0, 0.0], True)


# The caller's own state.


@BOTH
@pytest.mark.parametrize("ending", ["well", "badly"])
def test_the_callers_random_numbers_and_garbage_collection_go_on_undisturbed(ending, ranks):
    def program(comm):
        torch.rand(3), random.random(), np.random.rand()  # noqa: NPY002
        if ending == "badly":
            raise ValueError

    def draws():
        return torch.rand(1).item(), random.random(), np.random.rand()  # noqa: NPY002

    torch.manual_seed(1), random.seed(1), np.random.seed(1)  # noqa: NPY002
    expected = draws()
    torch.manual_seed(1), random.seed(1), np.random.seed(1)  # noqa: NPY002
    try:
        simulate(program, 2, ranks=ranks)
    except RankError:
        assert ending == "badly"
    assert draws() == expected
    assert gc.isenabled()
    assert left_behind() == []


def test_garbage_collection_stays_off_for_a_caller_who_turned_it_off():
    gc.disable()
    try:
        simulate(lambda comm: None, 2)
        assert not gc.isenabled()
    finally:
        gc.enable()


@BOTH
def test_a_simulation_inside_a_simulation(ranks):
    def program(comm):
        comm.barrier()
        return comm.rank, simulate(lambda inner: inner.barrier() or inner.rank, 2).results

    assert simulate(program, 2, ranks=ranks).results == [(0, [0, 1]), (1, [0, 1])]


# What is refused.


@pytest.mark.parametrize("world_size", [0, -1, 2.0, True, "4"])
def test_a_world_size_that_is_no_number_of_ranks_is_refused(world_size):
    with pytest.raises(ValueError, match="world_size must be a whole number of ranks"):
        simulate(lambda comm: None, world_size)


@pytest.mark.parametrize(
    ("say", "error"),
    [
        (lambda comm: comm.send(one(), comm.rank), "ValueError: dst is rank 1 itself"),
        (lambda comm: comm.irecv(one(), comm.rank), "ValueError: src is rank 1 itself"),
        (lambda comm: comm.send(one(), 2), "ValueError: dst must be a rank from 0 to 1, rank 1 got 2"),
        (lambda comm: comm.recv(one(), -1), "ValueError: src must be a rank from 0 to 1, rank 1 got -1"),
        (lambda comm: comm.isend(one(), None), "ValueError: dst must be a rank from 0 to 1, rank 1 got None"),
        (lambda comm: comm.send(1.0, 0), "TypeError: rank 1: a message must be a torch.Tensor, got float"),
        (lambda comm: comm.send(torch.ones(2, 2).T, 0), r"ValueError: rank 1: a message must be contiguous"),
        (lambda comm: comm.recv(torch.ones(2, 2)[:, :1], 0), "ValueError: rank 1: .*; receive into a new tensor"),
        (lambda comm: comm.compute(-1.0), "ValueError: seconds must be a number of 0 or more, rank 1 got -1.0"),
        (lambda comm: comm.compute(float("nan")), "ValueError: seconds must be a number of 0 or more, rank 1 got nan"),
    ],
)
def test_what_no_message_can_be_is_refused_with_what_was_given(say, error):
    with pytest.raises(RankError, match=f"rank 1 raised {error}"):
        simulate(lambda comm: comm.rank and say(comm), 2)


def test_another_word_for_ranks_is_refused():
    with pytest.raises(ValueError, match='must be "auto", "greenlets" or "threads", got \'processes\''):
        simulate(lambda comm: None, 2, ranks="processes")


def test_a_program_that_cannot_be_copied_is_refused_before_anything_runs():
    lock = threading.Lock()

    def program(comm):
        return lock

    with pytest.raises(TransportError, match=r"program cannot travel .*lock"):
        simulate(program, 2)
    with pytest.raises(TypeError, match="program must be a function"):
        simulate("program", 2)
    with pytest.raises(TypeError, match=r"args must be a tuple, as in args=\(tensor,\), got Tensor"):
        simulate(lambda comm, tensor: None, 2, torch.ones(3))


@pytest.mark.parametrize("ranks", ["greenlets", "threads"])
def test_a_receive_that_nobody_waits_for_never_fills_its_tensor(ranks):
    def program(comm):
        if comm.rank == 0:
            comm.send(torch.ones(2), 1)
            return None
        tensor = torch.zeros(2)
        work = comm.irecv(tensor, 0)
        comm.compute(1.0)
        before = tensor.tolist()
        work.wait()
        return before, tensor.tolist()

    assert simulate(program, 2, ranks=ranks).results[1] == ([0.0, 0.0], [1.0, 1.0])


def test_a_number_of_numpy_names_a_rank():
    def program(comm):
        here, there = np.arange(2)[[comm.rank, 1 - comm.rank]]
        comm.isend(torch.tensor([float(here)]), there)
        got = torch.empty(1)
        assert comm.recv(got, there) == 1 - comm.rank
        return got.item()

    report = simulate(program, 2)
    assert report.results == [1.0, 0.0]
    assert {type(message.dst) for message in report.trace.messages} == {int}


def draws_between_messages(comm, seed):
    """Numbers of torch before and after others have had their turn, also in a function that it starts."""
    if seed is not None:
        torch.manual_seed(seed)
    comm.barrier()
    drawn = [torch.rand(1).item()]
    direct_all_reduce(comm, torch.ones(3))
    comm.compute(0.1 * comm.rank)
    drawn.append(torch.nn.functional.dropout(torch.ones(8)).tolist())
    comm.start(lambda beside: beside.barrier() or drawn.append(torch.rand(1).item())).wait()
    return drawn, torch.rand(1).item()


@pytest.mark.parametrize("seed", [None, 0, 7])
@pytest.mark.parametrize("world_size", [1, 3])
def test_each_rank_draws_from_torch_what_it_draws_as_a_process(world_size, seed):
    measured = run(draws_between_messages, world_size, (seed,)).results
    for ranks in ("threads", "greenlets"):
        assert simulate(draws_between_messages, world_size, (seed,), ranks=ranks).results == measured
