"""Buckets, parameters and units bear names: ranks whose order differs are told, though all shapes agree."""

from functools import partial

import pytest
import torch
from torch import nn

from course_lib import MismatchError, run, simulate
from course_lib.data_parallel import (
    DataParallel,
    OverlappedAverage,
    average_gradients,
    average_gradients_in_buckets,
    broadcast_state,
    check_agreement,
)
from course_lib.data_parallel.zero import ZERO_STAGES


class TwoLayers(nn.Module):
    """Two layers of one shape, registered in this order."""

    def __init__(self, order: str) -> None:
        super().__init__()
        for name in order:
            self.add_module(name, nn.Linear(3, 3, bias=False))

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        for layer in self.children():
            inputs = layer(inputs)
        return inputs


def step(comm, orders: list[str], way: str) -> list[str]:
    """One backward pass; what this rank's collectives were called."""
    model = TwoLayers(orders[comm.rank])
    if way.startswith("zero"):
        sharded = ZERO_STAGES[int(way[-1])](comm, model, partial(torch.optim.SGD, lr=0.1))
        sharded.module(torch.ones(1, 3)).sum().backward()
        sharded.step()
    elif "wrapper" in way:
        wrapper = DataParallel(comm, model, bucket_bytes=1, overlap="overlap" in way)
        wrapper(torch.ones(1, 3)).sum().backward()
    elif way == "idea":
        idea = OverlappedAverage(comm, model, bucket_bytes=1)
        model(torch.ones(1, 3)).sum().backward()
        idea.finish()
    else:
        model(torch.ones(1, 3)).sum().backward()
        average = average_gradients if way == "parameters" else average_gradients_in_buckets
        average(comm, model)


WAYS = {
    "parameters": ["a.weight", "b.weight"],
    "buckets": ["bucket 0 (b.weight to a.weight)"],
    "wrapper": ["bucket 0 (b.weight)", "bucket 1 (a.weight)"],
    "wrapper, overlap": ["bucket 0 (b.weight)", "bucket 1 (a.weight)"],
    "idea": ["bucket 0", "bucket 1"],
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("execute", [simulate, run])
def test_each_way_of_averaging_names_what_it_averages(execute, way) -> None:
    report = execute(step, 2, args=(["ab", "ab"], way))
    assert [call.name for call in report.trace.collectives if call.rank == 1] == WAYS[way]


@pytest.mark.parametrize("way", ["parameters", "buckets", "wrapper", "wrapper, overlap", "zero 1", "zero 2", "zero 3"])
@pytest.mark.parametrize("execute", [simulate, run])
def test_layers_in_another_order_on_one_rank_are_refused_by_name(execute, way) -> None:
    execute(step, 3, args=(["ab", "ab", "ab"], way))
    with pytest.raises(MismatchError, match="in two collectives") as refused:
        execute(step, 3, args=(["ab", "ab", "ba"], way))
    sides = {refused.value.sent, refused.value.expected}
    assert len(sides) == 2
    assert all("a" in side.split('"')[1] or "b" in side.split('"')[1] for side in sides)


def test_a_broadcast_state_names_its_tensors_and_a_check_finds_what_differs_before_that() -> None:
    def program(comm, orders, check):
        model = TwoLayers(orders[comm.rank])
        if check:
            check_agreement(comm, model)
        broadcast_state(comm, model)

    assert [call.name for call in simulate(program, 1, args=(["ab"], False)).trace.collectives] == [
        "a.weight",
        "b.weight",
    ]
    with pytest.raises(MismatchError, match=r'broadcast of "a\.weight"'):
        simulate(program, 2, args=(["ab", "ba"], False))
