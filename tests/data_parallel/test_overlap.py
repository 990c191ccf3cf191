"""The idea of overlap alone gives the gradients and the messages of the wrapper."""

import pytest
import torch
from torch import nn

from course_lib import Network, RankError, simulate
from course_lib.data_parallel import DataParallel, OverlappedAverage
from course_lib.data_parallel.experiments.timed_layers import timed

LINKS = Network(latency_s=0.001, bytes_per_s=1e6)


def model_of(comm) -> nn.Sequential:
    """Three layers of whole numbers; their backward passes take 20 ms each."""
    layers = [nn.Linear(4, 4) for _ in range(3)]
    for layer in layers:
        for place, parameter in enumerate(layer.parameters()):
            parameter.data = torch.arange(parameter.numel()).view_as(parameter).float() % 3 - place
    return nn.Sequential(*[timed(layer, comm, backward_s=0.02, label=str(n)) for n, layer in enumerate(layers)])


def steps_of(comm, lesson: bool, bucket_bytes: int) -> list:
    """The gradients of two passes."""
    model, found = model_of(comm), []
    average = OverlappedAverage(comm, model, bucket_bytes) if lesson else DataParallel(comm, model, bucket_bytes)
    for step in (1.0, 2.0):
        model.zero_grad()
        model(torch.full((1, 4), step * (comm.rank + 1))).sum().backward()
        if lesson:
            average.finish()
        found.append([parameter.grad.tolist() for parameter in model.parameters()])
    return found


@pytest.mark.parametrize("world_size", [1, 2, 4])
@pytest.mark.parametrize("bucket_bytes", [1, 80, 120, 10_000])
def test_gradients_and_messages_are_those_of_the_wrapper(world_size: int, bucket_bytes: int) -> None:
    lesson, wrapper = (simulate(steps_of, world_size, (each, bucket_bytes), network=LINKS) for each in (True, False))
    assert lesson.results == wrapper.results
    assert lesson.trace.messages == wrapper.trace.messages
    assert [span for span in lesson.trace.spans if span.label.startswith("backward")]


def test_buckets_start_in_the_order_of_the_plan_on_ranks_whose_gradients_come_in_other_orders() -> None:
    def program(comm):
        first, second = nn.Linear(1, 1, bias=False), nn.Linear(1, 1, bias=False)
        nn.init.constant_(first.weight, 2.0), nn.init.constant_(second.weight, 3.0)
        average = OverlappedAverage(comm, nn.ModuleList([first, second]), bucket_bytes=1)
        inputs = torch.full((1, 1), 1.0 + comm.rank)
        (first(second(inputs)) if comm.rank else second(first(inputs))).sum().backward()
        average.finish()
        return first.weight.grad.item(), second.weight.grad.item()

    assert simulate(program, 2).results == [(4.5, 3.0)] * 2  # 3 × input and 2 × input


def test_a_second_backward_pass_before_finish_is_refused() -> None:
    def program(comm):
        module = nn.Linear(1, 1)
        OverlappedAverage(comm, module)
        for _ in range(2):
            module(torch.ones(1, 1)).sum().backward()

    with pytest.raises(RankError, match=r"finish\(\) must be called after each backward pass"):
        simulate(program, 2)


def test_a_cell_that_makes_the_average_can_be_run_again() -> None:
    def program(comm):
        module = nn.Linear(1, 1)
        for _ in range(2):
            average = OverlappedAverage(comm, module)
        for _ in range(2):
            module.zero_grad()
            module(torch.full((1, 1), comm.rank + 1.0)).sum().backward()
            average.finish()
        return module.weight.grad.item()

    report = simulate(program, 2)
    assert report.results == [1.5] * 2
    assert len(report.trace.messages) == 2 * 4
