"""Rule: by whatever door a backward pass enters a unit, weights are those of one process, or words say what to do."""

import dataclasses
import types
from functools import partial

import pytest
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

from course_lib import RankError, simulate
from course_lib.data_parallel.zero import ZERO_STAGES
from course_lib.pipeline import HeldActivations

SGD = partial(torch.optim.SGD, lr=0.1)


@dataclasses.dataclass
class Output:
    h: torch.Tensor


class Slotted:
    __slots__ = ("h",)

    def __init__(self, h):
        self.h = h


WRAPS = {
    "tensor": (lambda h: h, lambda o: o),
    "dictionary in a list": (lambda h: [{"h": h}], lambda o: o[0]["h"]),
    "dataclass": (Output, lambda o: o.h),
    "slots": (Slotted, lambda o: o.h),
    "namespace": (lambda h: types.SimpleNamespace(h=h), lambda o: o.h),
    "function": (lambda h: lambda: h, lambda o: o()),
    "iterator": (lambda h: iter([h]), next),
    "object in an object": (lambda h: Slotted(Output(h)), lambda o: o.h.h),
}


class Block(nn.Module):
    """A loss of its own beside its output, and a part that is recomputed."""

    def __init__(self, wrap, kept):
        super().__init__()
        self.wrap, self.kept = wrap, kept
        self.up, self.down, self.side = nn.Linear(4, 4), nn.Linear(4, 4), nn.Linear(4, 2)

    def forward(self, x):
        h = self.down(checkpoint(lambda x: torch.tanh(self.up(x)), x, use_reentrant=False))
        self.kept.append(self.side(torch.tanh(h) if self.wrap is WRAPS["slots"] else x).square().mean())
        return self.wrap[0](h)


class Model(nn.Module):
    def __init__(self, wrap):
        super().__init__()
        self.wrap, self.losses = wrap, []
        self.blocks = nn.ModuleList(Block(wrap, self.losses) for _ in range(3))
        self.scale = nn.Parameter(torch.ones(4))  # in the unit of what is left over

    def forward(self, x):
        for block in self.blocks:
            x = self.wrap[1](block(x)) * self.scale
        return x


def made(wrap):
    torch.manual_seed(0)
    return Model(WRAPS[wrap])


def take(model, optimizer, only_sides=False):
    for step in range(2):
        optimizer.zero_grad()
        model.losses.clear()
        y = model(torch.randn(3, 4, generator=torch.Generator().manual_seed(step)))
        loss = sum(model.losses)
        (loss if only_sides else y.square().mean() + loss).backward()
        optimizer.step()


def sharded(comm, wrap, stage, only_sides=False):
    model = made(wrap)
    zero = ZERO_STAGES[stage](comm, model, SGD)
    take(model, zero, only_sides)
    with zero.whole():
        return [parameter.tolist() for parameter in model.parameters()]


@pytest.mark.parametrize("stage", ZERO_STAGES)
@pytest.mark.parametrize("wrap", WRAPS)
def test_weights_are_those_of_one_process_whatever_the_outputs_lie_in(wrap, stage):
    alone = made(wrap)
    take(alone, SGD(alone.parameters()))
    for ours, theirs in zip(simulate(sharded, 2, args=(wrap, stage)).results[1], alone.parameters(), strict=True):
        torch.testing.assert_close(torch.tensor(ours), theirs.detach())


@pytest.mark.parametrize("wrap", ["tensor", "slots"])
def test_a_loss_that_only_layers_keep_to_themselves_is_enough(wrap):
    alone = made(wrap)
    take(alone, SGD(alone.parameters()), only_sides=True)
    results = simulate(sharded, 3, args=(wrap, 3, True)).results
    for ours, theirs in zip(results[2], alone.parameters(), strict=True):
        torch.testing.assert_close(torch.tensor(ours), theirs.detach())


def test_what_is_saved_beside_weights_is_still_seen_by_the_hooks_around():
    def counts(comm):
        model, held = nn.Sequential(nn.Linear(4, 4), nn.Tanh(), nn.Linear(4, 4)), HeldActivations()
        zero = ZERO_STAGES[3](comm, model, SGD)
        with held.watch():
            y = model(torch.ones(2, 4))
        before = held.now_bytes
        y.sum().backward()
        zero.step()
        return before, held.now_bytes

    assert simulate(counts, 2).results == [(2 * 2 * 4 * 4, 0)] * 2  # x and the output of tanh


def test_a_saved_tensor_that_is_changed_in_place_is_refused_as_torch_does():
    class Careless(nn.Linear):
        def forward(self, x):
            y = super().forward(x).exp()
            y.detach().add_(1)
            return y

    def trains(comm):
        model = nn.Sequential(Careless(2, 2))
        ZERO_STAGES[3](comm, model, SGD)
        model(torch.ones(1, 2)).sum().backward()

    with pytest.raises(RankError, match="modified by an inplace operation"):
        simulate(trains, 2)


REGULARIZERS = {
    "squares": lambda model: sum(p.square().sum() for p in model.parameters()),
    "norm": lambda model: torch.stack([p.norm() for p in model.parameters()]).sum(),
    "without gradients": torch.no_grad()(lambda model: model[0].weight.abs().max()),
    "another layer": lambda model: (torch.ones(1, 4) @ model[1].weight.t()).sum(),
}


@pytest.mark.parametrize("kind", REGULARIZERS)
@pytest.mark.parametrize("when", ["before", "after"])
def test_weights_that_are_used_outside_of_their_unit_are_refused_with_what_to_do(kind, when):
    def trains(comm):
        model = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 4))
        ZERO_STAGES[3](comm, model, SGD)
        y = model(torch.ones(2, 4)).sum() if when == "after" else torch.zeros(())
        (y + REGULARIZERS[kind](model)).backward()

    with pytest.raises(RankError, match="a parameter is used outside of the forward pass of its unit"):
        simulate(trains, 2)


@pytest.mark.parametrize("kind", ["the weight", "a view of it", "a row of it"])
def test_a_unit_that_gives_its_weights_away_is_refused_with_what_to_do(kind):
    class Gives(nn.Linear):
        def forward(self, x):
            return {"the weight": self.weight, "a view of it": self.weight.t(), "a row of it": self.weight[0]}[kind]

    def trains(comm):
        model = nn.ModuleList([Gives(2, 2), nn.Linear(2, 2)])
        ZERO_STAGES[3](comm, model, SGD)
        model[1](torch.ones(2) @ model[0](None)).sum().backward()

    with pytest.raises(RankError, match="a parameter is used outside of the forward pass of its unit"):
        simulate(trains, 2)
