"""The rule: nothing that overflowed is remembered. After a skipped step training goes on as with a plain all-reduce."""

import math

import pytest
import torch
from torch import nn

from course_lib import simulate
from course_lib.collectives import ring_all_reduce
from course_lib.compression import (
    CompressedAllReduce,
    CompressedSums,
    MaskedAllReduce,
    OneBit,
    OneBitAdam,
    OuterStep,
    PowerSGD,
    TopK,
    magnitude_masks,
)
from course_lib.data_parallel import DataParallel

KINDS = {
    "plain": lambda model: ring_all_reduce,
    "top-k": lambda model: CompressedAllReduce(TopK(0.2)),
    "one bit": lambda model: CompressedAllReduce(OneBit()),
    "without feedback": lambda model: CompressedAllReduce(TopK(0.2), error_feedback=False),
    "sums in one bit": lambda model: CompressedSums(OneBit()),
    "sums of top-k": lambda model: CompressedSums(TopK(0.2)),
    "PowerSGD": lambda model: PowerSGD(model.parameters(), rank=1),
    "masks": lambda model: MaskedAllReduce(magnitude_masks(model, 0.5), CompressedAllReduce(TopK(0.5))),
}
OVERFLOWS = {"inf": math.inf, "-inf": -math.inf, "nan": math.nan}


def kept(all_reduce) -> list[torch.Tensor]:
    """All that it remembers of its rows."""
    all_reduce = getattr(all_reduce, "all_reduce", all_reduce)  # what is behind the masks
    tables = [getattr(all_reduce, name) for name in getattr(all_reduce, "tables", ())]
    return [table[number].clone() for table in tables for number in sorted(table)]


def train(comm, kind: str, overflow: float) -> list[bool]:
    """Whether each step's gradients were finite; one number of rank 1's is not in step 2."""
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(8, 8), nn.Linear(8, 8))
    model[1].weight.data[0, 0] = 1  # the number that overflows is no small one, which a mask would leave out
    all_reduce = KINDS[kind](model)
    wrapped = DataParallel(comm, model, all_reduce=all_reduce)
    optimizer, finite = torch.optim.SGD(model.parameters(), lr=0.01), []
    for step in range(5):
        optimizer.zero_grad()
        loss = (
            wrapped(torch.randn(4, 8, generator=torch.Generator().manual_seed(10 * step + comm.rank))).square().mean()
        )
        if step == 2 and comm.rank == 1:
            loss = loss + (model[1].weight * torch.tensor([overflow] + 63 * [0.0]).view(8, 8)).sum()
        before = kept(all_reduce)
        loss.backward()
        finite.append(all(p.grad.isfinite().all().item() for p in model.parameters()))
        if finite[-1]:
            optimizer.step()
        else:
            assert all(map(torch.equal, kept(all_reduce), before))
    return finite


@pytest.mark.parametrize("overflow", OVERFLOWS)
@pytest.mark.parametrize("kind", KINDS)
def test_one_overflow_costs_one_step(kind: str, overflow: str) -> None:
    assert simulate(train, 2, (kind, OVERFLOWS[overflow])).results == [[True, True, False, True, True]] * 2


@pytest.mark.parametrize("overflow", OVERFLOWS)
@pytest.mark.parametrize("at", [1, 3])  # while it warms up, and in one bit
def test_one_bit_adam_goes_on_as_if_the_step_had_not_been(at: int, overflow: str) -> None:
    def program(comm, at: int):
        torch.manual_seed(0)
        model = nn.Linear(4, 4)
        step = OneBitAdam(model, warm_up_steps=2)
        for number in range(5 if at < 0 else 6):
            good = number - (0 <= at < number)
            model.weight.grad = torch.full((4, 4), 1.0 + good + comm.rank)
            model.bias.grad = None if good % 2 else torch.ones(4)
            if number == at and comm.rank == 1:
                model.weight.grad[0, 0] = OVERFLOWS[overflow]
            assert step(comm) == (number != at)
        return nn.utils.parameters_to_vector(model.parameters()).tolist()

    assert simulate(program, 2, (at,)).results == simulate(program, 2, (-1,)).results


@pytest.mark.parametrize("all_reduce", [ring_all_reduce, CompressedAllReduce(TopK(0.5))], ids=["plain", "top-k"])
def test_an_outer_step_that_overflows_leaves_all_sites_where_they_began(all_reduce) -> None:
    def program(comm):
        model = nn.Linear(2, 2)
        nn.init.ones_(model.weight), nn.init.zeros_(model.bias)
        outer, taken = OuterStep(model, all_reduce=all_reduce), []
        for change in (1.0, math.nan if comm.rank else 1.0, 1.0):
            before = outer.common.tolist(), outer.velocity.tolist()
            model.weight.data[0, 0] += change
            taken.append(outer(comm))
            if not taken[-1]:
                assert (outer.common.tolist(), outer.velocity.tolist()) == before
        return taken, model.weight[0, 0].item() > 2

    assert simulate(program, 2).results == [([True, False, True], True)] * 2


@pytest.mark.parametrize("warm_up_steps", [1, 3])
def test_one_bit_adam_leaves_what_has_no_gradient(warm_up_steps: int) -> None:
    def program(comm):
        model = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2), nn.Linear(2, 2))
        model[1].requires_grad_(False)  # frozen; the last is not used
        before = [p.clone() for p in model[1:].parameters()]
        step = OneBitAdam(model, warm_up_steps=warm_up_steps)
        for _ in range(3):
            model.zero_grad()
            model[1](model[0](torch.ones(1, 2))).sum().backward()
            assert step(comm)
        return all(map(torch.equal, before, model[1:].parameters()))

    assert simulate(program, 2).results == [True, True]
