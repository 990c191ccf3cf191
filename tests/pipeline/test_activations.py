"""What is held for backward passes, byte by byte: the schedule's micro-batches times what a stage keeps of each."""

import pytest
import torch

from course_lib import simulate
from course_lib.pipeline import SCHEDULES, HeldActivations, peak_in_flight, run_schedule

WIDTH, ROWS = 6, 3
LAYERS = 4  # of every stage: linear, ReLU, linear, ReLU
ONE_TENSOR = 4 * ROWS * WIDTH  # bytes


def stage():
    pairs = [part for _ in range(LAYERS // 2) for part in (torch.nn.Linear(WIDTH, WIDTH), torch.nn.ReLU())]
    return torch.nn.Sequential(*pairs)


def step(comm, schedule, recompute):
    module = stage()
    held = HeldActivations(module.parameters())
    inputs = [torch.ones(ROWS, WIDTH) for _ in range(schedule.micro_batches)]
    shape, loss = (lambda *_: (ROWS, WIDTH)), (lambda y, _: y.sum())
    stages = {comm.rank: module}
    run_schedule(comm, schedule, stages, inputs, shape, loss, recompute=recompute, activations=held)
    return held.peak_bytes, held.now_bytes


@pytest.mark.parametrize("name", ["one at a time", "GPipe", "1F1B"])
def test_a_rank_holds_its_input_and_two_outputs_of_each_micro_batch_in_flight(name):
    schedule = SCHEDULES[name](4, 8)
    results = simulate(step, 4, args=(schedule, False)).results
    assert results == [(peak * 3 * ONE_TENSOR, 0) for peak in peak_in_flight(schedule)]


@pytest.mark.parametrize("name", ["one at a time", "GPipe", "1F1B"])
def test_recomputation_holds_inputs_and_the_outputs_of_one(name):
    schedule = SCHEDULES[name](4, 8)
    results = simulate(step, 4, args=(schedule, True)).results
    assert results == [((peak + 2) * ONE_TENSOR, 0) for peak in peak_in_flight(schedule)]


def test_views_and_parameters_count_nothing_more():
    weight = torch.ones(4, requires_grad=True)
    held = HeldActivations([weight])
    x = torch.ones(4, requires_grad=True)
    with held.watch():
        y = x * weight + x[:2].sum() * x.view(2, 2).exp().sum()
    kept = held.peak_bytes
    y.sum().backward()
    assert kept == 4 * 4 + 4 * 4 + 2 * 4  # x, its exponentials, two sums
    assert held.now_bytes == 0
