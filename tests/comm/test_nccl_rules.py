"""simulate(rules="nccl"): what runs there, and what would hang there."""

import random
import sys

import cloudpickle
import nccl_programs
import pytest
import torch
from nccl_programs import PROGRAMS, one, ring_in_a_batch, ring_that_waits_in_the_batch, two_works

from course_lib import DeadlockError, Network, RankError, simulate
from course_lib.collectives import ring_all_reduce
from course_lib.comm.simulator.nccl import OrderedWire, RankStream
from course_lib.data_parallel import DataParallel

for module in (nccl_programs, sys.modules[__name__]):
    cloudpickle.register_pickle_by_value(module)  # as if these programs were written in a notebook

BOTH = pytest.mark.parametrize("ranks", ["greenlets", "threads"])


@BOTH
@pytest.mark.parametrize("name", PROGRAMS)
def test_what_runs_under_gloo_runs_under_nccl_or_is_a_deadlock(name, ranks):
    program, world_size, runs = PROGRAMS[name]
    simulate(program, world_size, ranks=ranks)
    if runs:
        simulate(program, world_size, ranks=ranks, rules="nccl")
    else:
        with pytest.raises(DeadlockError):
            simulate(program, world_size, ranks=ranks, rules="nccl")


# Laws.


def plan_of(number: int) -> list[list[list[tuple[str, int]]]]:
    """Random batches of each rank: some in one order of all messages, some shuffled."""
    draw = random.Random(number)
    size = draw.choice([2, 3, 4])
    ranks: list[list[list[tuple[str, int]]]] = [[] for _ in range(size)]
    for _ in range(draw.randint(1, 8)):
        src, dst = draw.sample(range(size), 2)
        for rank, step in ((src, ("isend", dst)), (dst, ("irecv", src))):
            if ranks[rank] and draw.random() < 0.4:
                ranks[rank][-1].append(step)
            else:
                ranks[rank].append([step])
    for batches in ranks:
        if draw.random() < 0.3:
            draw.shuffle(batches)
    return ranks


def goes_through(plan: list[list[list[tuple[str, int]]]]) -> bool:
    """Whether all batches end, by playing them: a message goes when both its sides are in batches whose turn it is."""
    left = [[list(batch) for batch in batches] for batches in plan]
    while any(left):
        moved = False
        for rank, batches in enumerate(left):
            for step in list(batches[0]) if batches else []:
                other = ("irecv" if step[0] == "isend" else "isend", rank)
                theirs = left[step[1]]
                if theirs and other in theirs[0]:
                    batches[0].remove(step)
                    theirs[0].remove(other)
                    moved = True
        for batches in left:
            while batches and not batches[0]:
                batches.pop(0)
        if not moved:
            return False
    return True


def carry_out(comm, plan):
    """Post everything, then wait for everything; returns what arrived from whom."""
    works, boxes, sent = [], [], 0
    for batch in plan[comm.rank]:
        with comm.batch():
            for verb, peer in batch:
                if verb == "isend":
                    works.append(comm.isend(one(100 * comm.rank + sent), peer))
                    sent += 1
                else:
                    boxes.append(one())
                    works.append(comm.irecv(boxes[-1], peer))
    for work in works:
        work.wait()
    return [box.item() for box in boxes]


@pytest.mark.parametrize("network", [Network(), Network(latency_s=1.0, bytes_per_s=8.0, jitter=0.2)])
def test_random_plans_go_through_where_playing_them_does_and_deliver_what_gloo_delivers(network):
    seen = {True: 0, False: 0}
    for number in range(300):
        plan = plan_of(number)
        runs = goes_through(plan)
        seen[runs] += 1
        by_gloo = simulate(carry_out, len(plan), (plan,), network=network, ranks="greenlets")
        if runs:
            by_nccl = simulate(carry_out, len(plan), (plan,), network=network, ranks="greenlets", rules="nccl")
            assert by_nccl.results == by_gloo.results
            assert by_nccl.trace.link_bytes == by_gloo.trace.link_bytes
            assert by_nccl.trace.steps >= by_gloo.trace.steps
        else:
            with pytest.raises(DeadlockError):
                simulate(carry_out, len(plan), (plan,), network=network, ranks="greenlets", rules="nccl")
    assert min(seen.values()) > 50


@BOTH
@pytest.mark.parametrize("world_size", [1, 2, 3, 5])
def test_where_every_message_is_in_a_batch_of_its_step_the_trace_is_that_of_gloo(world_size, ranks):
    network = Network(latency_s=1.0, bytes_per_s=8.0)
    by_gloo, by_nccl = (
        simulate(ring_all_reduce, world_size, (torch.arange(11.0),), network=network, ranks=ranks, rules=rules)
        for rules in ("gloo", "nccl")
    )
    assert list(by_gloo.trace.messages) == list(by_nccl.trace.messages)
    assert by_gloo.seconds == by_nccl.seconds
    assert by_nccl.backend.startswith(f"simulator under NCCL's rules, {ranks}")


def test_what_is_started_later_begins_when_what_was_started_before_has_ended():
    def program(comm):
        works = [comm.isend(one(), 1 + n) if comm.rank == 0 else None for n in range(2)]
        return [work.wait() for work in works] if comm.rank == 0 else comm.recv(one(), 0)

    starts = {}
    for rules in ("gloo", "nccl"):
        trace = simulate(program, 3, network=Network(latency_s=2.0), rules=rules).trace
        starts[rules] = [(m.dst, m.send_posted_s, m.start_s, m.step) for m in trace.messages]
    assert starts["gloo"] == [(1, 0.0, 0.0, 1), (2, 0.0, 2.0, 1)]  # (a port carries one message at a time)
    assert starts["nccl"] == [(1, 0.0, 0.0, 1), (2, 2.0, 2.0, 2)]


def test_a_step_counts_what_stood_before_a_started_function_as_well():
    def program(comm):
        sent = comm.isend(one(), 1) if comm.rank == 0 else comm.irecv(one(), 0)
        comm.start(ring_all_reduce, one()).wait()
        sent.wait()

    steps = {rules: simulate(program, 2, rules=rules).trace.steps for rules in ("gloo", "nccl")}
    assert steps == {"gloo": 2, "nccl": 3}


def test_a_collective_that_was_started_travels_while_its_rank_computes_and_the_next_comes_after_it():
    def program(comm):
        works = [comm.start(ring_all_reduce, torch.ones(2)) for _ in range(2)]
        comm.compute(1.0)
        for work in works:
            work.wait()
        return comm.now()

    assert simulate(program, 2, network=Network(latency_s=1.0), rules="nccl").results == [4.0, 4.0]


def test_hooks_of_a_backward_pass_run_in_order_too():
    def program(comm):
        torch.manual_seed(0)
        model = DataParallel(comm, torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.Linear(2, 1)), 8, overlap=True)
        model(torch.ones(4, 3) * comm.rank).sum().backward()
        model.finish()
        return [parameter.grad.tolist() for parameter in model.parameters()]

    assert simulate(program, 3, rules="nccl").results == simulate(program, 3).results


def test_where_a_rank_has_an_accelerator_tensors_of_the_cpu_go_in_no_order():
    posted = []

    class Plain:
        def send(self, operation, at_s):
            posted.append(operation)

        recv = send

    class Side:
        class comm:  # noqa: N801
            device = torch.device("meta")

        payload, peer = one(), None

    wire = OrderedWire(Plain(), RankStream(None))
    wire.send(Side, 0.0)
    wire.recv(Side, 0.0)
    assert posted == [Side, Side]
    Side.payload = torch.empty(1, device="meta")
    with pytest.raises(ValueError, match="cannot receive from anyone"):
        wire.recv(Side, 0.0)


def test_a_batch_changes_nothing_under_gloo():
    plain, batched = (simulate(each, 3, network=Network(latency_s=1.0)) for each in (ring_in_a_batch, two_works))
    assert list(plain.trace.messages) == list(batched.trace.messages)


def test_a_batch_of_a_group_is_its_ranks():
    def program(comm):
        ring_in_a_batch(comm.group([1, 2]) if comm.rank else comm.group([0]))

    with pytest.raises(RankError, match="cannot send to or receive from itself"):
        simulate(program, 3, rules="nccl")
    simulate(lambda comm: ring_in_a_batch(comm.group([2, 0, 1])), 3, rules="nccl")


def test_what_raises_inside_a_batch_has_posted_what_stands_before_it():
    def program(comm):
        received = None
        try:
            with comm.batch():
                received = comm.irecv(one(), 1 - comm.rank)
                comm.isend(one(), 1 - comm.rank)
                raise KeyError
        except KeyError:
            received.wait()
        with comm.collective("swap"), comm.batch():
            ring_that_waits_in_the_batch(comm)

    simulate(program, 2, rules="nccl")


def test_meta_tensors_are_carried_in_order_by_greenlets():
    def program(comm, length):
        ring_all_reduce(comm, torch.empty(length, device="meta"))

    report = simulate(program, 3, (12,), rules="nccl")
    assert report.backend == "simulator under NCCL's rules, greenlets (the first message is a meta tensor)"
    assert report.trace.steps == 4
