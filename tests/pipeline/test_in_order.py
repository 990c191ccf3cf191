"""Pipelines where sends and receives run one after the other: no schedule hangs, and few take longer for it."""

import itertools
import sys

import cloudpickle
import pytest
import torch
from torch import nn

from course_lib import Network, run, simulate
from course_lib.comm.transport.batched import BatchedCommunicator
from course_lib.pipeline import SCHEDULES, OperationTimes, dual_pipe, pipeline_timeline, run_schedule
from course_lib.pipeline.channels import order_of_messages, receiver_of

cloudpickle.register_pickle_by_value(sys.modules[__name__])  # as if these programs were written in a notebook

WIDTH = 3
ALL = {**SCHEDULES, "DualPipe": dual_pipe}
SIZES = [(1, 2), (2, 4), (3, 6), (4, 8), (6, 12)]


def step(comm, schedule, times=None, tells=False):
    inputs = torch.randn(2 * schedule.micro_batches, WIDTH, generator=torch.Generator().manual_seed(1))
    parts, stages = inputs.chunk(schedule.micro_batches), {}
    for stage in sorted({operation.stage for operation in schedule.ranks[comm.rank]}):
        torch.manual_seed(stage)
        stages[stage] = nn.Linear(WIDTH, WIDTH)
    rank = run_schedule(
        comm,
        schedule,
        stages,
        parts,
        lambda *_: (2, WIDTH),
        lambda y, number: y.square().sum(),
        times=times,
        tells_dtype=tells,
    )
    return [[weight.grad.tolist() for weight in each.parameters()] for each in stages.values()], rank.losses


def in_one_batch(comm, *args):
    """What is started begins when the rank waits, as where real processes use NCCL."""
    with comm.batch():
        return step(comm, *args)


def made(name, size):
    world_size, micro_batches = size
    if name == "DualPipe" and world_size % 2:
        pytest.skip("it goes over an even number of ranks")
    return ALL[name](world_size, micro_batches)


@pytest.mark.parametrize("tells", [False, True])
@pytest.mark.parametrize("program", [step, in_one_batch])
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("name", ALL)
def test_every_schedule_gives_by_nccls_rules_what_it_gives_by_gloos(name, size, program, tells):
    schedule = made(name, size)
    by_gloo, by_nccl = (
        simulate(program, size[0], (schedule, None, tells), rules=rules, ranks="threads").results
        for rules in ("gloo", "nccl")
    )
    assert by_nccl == by_gloo


@pytest.mark.parametrize("times", [OperationTimes(), OperationTimes(2.0, 2.0, 1.0)])
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("name", ALL)
def test_where_messages_take_no_time_the_order_costs_little_and_most_schedules_nothing(name, size, times):
    schedule = made(name, size)
    found_s = simulate(step, size[0], (schedule, times), network=Network(), rules="nccl").seconds
    most = 1.1 if name in ("V-Min", "V-Half", "ZB-V") else 1 + 1e-9
    assert 1 - 1e-9 <= found_s / pipeline_timeline(schedule, times).makespan_s <= most


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("name", ALL)
def test_the_order_has_each_message_once_and_a_rank_sends_in_the_order_of_its_operations(name, size):
    schedule = made(name, size)
    order = order_of_messages(schedule)
    place = {operation: number for number, operation in enumerate(order)}
    for operations in schedule.ranks:
        sent = [operation for operation in operations if receiver_of(operation, schedule) is not None]
        assert sorted(sent, key=place.__getitem__) == sent
        assert set(sent) <= set(order)
    assert len(place) == len(order)
    for before, after in itertools.pairwise(_chains(schedule)):  # what is made of a message is sent after it
        if before in place and after in place and before.micro_batch == after.micro_batch:
            assert place[before] < place[after]


def _chains(schedule):
    """Each micro-batch's passes, forward and back, one micro-batch after the other."""
    passes = [operation for operations in schedule.ranks for operation in operations if operation.kind != "W"]
    return sorted(passes, key=lambda op: (op.micro_batch, op.kind == "B", op.stage if op.kind == "F" else -op.stage))


@pytest.mark.parametrize("name", ["1F1B", "ZB-H2"])
def test_real_processes_that_collect_what_they_start_do_the_same(name):
    schedule = SCHEDULES[name](2, 4)

    def collecting(comm, schedule):
        batched = BatchedCommunicator(comm.rank, comm.world_size, None, 0.0, torch.device("cpu"))
        result = step(batched, schedule)
        comm.barrier()
        return result

    assert run(collecting, 2, (schedule,)).results == simulate(step, 2, (schedule,)).results
