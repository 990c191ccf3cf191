"""Sharded training under the lines that scripts of PyTorch have: cleared, clipped, loaded, made twice, broken off."""

import copy
import math
from functools import partial

import pytest
import torch
from torch import nn

from course_lib import RankError, run, simulate
from course_lib.data_parallel import DataParallel
from course_lib.data_parallel.zero import ZERO_STAGES

STAGES = list(ZERO_STAGES)
SGD = partial(torch.optim.SGD, lr=0.1)


def small_network() -> nn.Sequential:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(3, 2), nn.Tanh(), nn.Linear(2, 2), nn.Linear(2, 1)).double()


def inputs_of(rank: int) -> torch.Tensor:
    return torch.arange(3.0, dtype=torch.float64).view(1, 3) - rank


def whole_parameters(sharded) -> list[torch.Tensor]:
    with sharded.whole() as module:
        return [parameter.detach().clone() for parameter in module.parameters()]


def same(left: list, right: list) -> bool:
    return all(torch.allclose(a, b, rtol=1e-10, atol=1e-12) for a, b in zip(left, right, strict=True))


def joined(ranks: int, steps: int, max_norm: float = 1e9) -> tuple[list[torch.Tensor], float]:
    """The parameters of one process, and the last norm of its gradients."""
    module = small_network()
    optimizer = SGD(module.parameters())
    for _ in range(steps):
        optimizer.zero_grad()
        module(torch.cat([inputs_of(rank) for rank in range(ranks)])).square().mean().backward()
        norm = nn.utils.clip_grad_norm_(module.parameters(), max_norm)
        optimizer.step()
    return [parameter.detach() for parameter in module.parameters()], float(norm)


@pytest.mark.parametrize("stage", STAGES)
@pytest.mark.parametrize("ranks", [1, 3])
def test_a_parameter_that_is_frozen_later_stays_where_it_is_and_the_others_go_on(stage, ranks) -> None:
    make = partial(torch.optim.SGD, lr=0.1, momentum=0.9, weight_decay=0.1)

    def train(module, optimizer, x):
        for step in range(4):
            module[2].weight.requires_grad_(step == 0)
            optimizer.zero_grad()
            module(x).square().mean().backward()
            optimizer.step()

    def program(comm):
        sharded = ZERO_STAGES[stage](comm, module := small_network(), make)
        train(module, sharded, inputs_of(comm.rank))
        return whole_parameters(sharded)

    alone = small_network()
    train(alone, make(alone.parameters()), torch.cat([inputs_of(rank) for rank in range(ranks)]))
    for parameters in simulate(program, ranks).results:
        assert same(parameters, [*alone.parameters()])


CLEARED = {
    "sharded": lambda module, sharded: sharded.zero_grad(),
    "module": lambda module, sharded: module.zero_grad(),
    "module, to zero": lambda module, sharded: module.zero_grad(set_to_none=False),
    "optimizer": lambda module, sharded: sharded.optimizer.zero_grad(),
    "nobody": lambda module, sharded: None,
}


@pytest.mark.parametrize("how", CLEARED)
@pytest.mark.parametrize("stage", STAGES)
def test_a_step_uses_the_gradients_since_the_step_before_however_they_are_cleared(stage: int, how: str) -> None:
    def program(comm):
        module = small_network()
        sharded = ZERO_STAGES[stage](comm, module, SGD)
        for _ in range(3):
            CLEARED[how](module, sharded)
            module(inputs_of(comm.rank)).square().mean().backward()
            sharded.step()
        return whole_parameters(sharded)

    expected, _ = joined(3, 3)
    assert all(same(result, expected) for result in simulate(program, 3).results)


@pytest.mark.parametrize("ranks", [1, 3, 5])
@pytest.mark.parametrize("stage", STAGES)
def test_gradients_are_clipped_by_the_norm_of_all(stage: int, ranks: int) -> None:
    def program(comm):
        module = small_network()
        sharded, norm = ZERO_STAGES[stage](comm, module, SGD), 0.0
        for _ in range(2):
            sharded.zero_grad()
            module(inputs_of(comm.rank)).square().mean().backward()
            norm = sharded.clip_grad_norm_(0.3)
            sharded.step()
        return whole_parameters(sharded), norm

    expected, norm = joined(ranks, 2, max_norm=0.3)
    assert norm > 0.3
    for parameters, theirs in simulate(program, ranks).results:
        assert same(parameters, expected)
        assert theirs == pytest.approx(norm, rel=1e-9)


@pytest.mark.parametrize("bad", [math.nan, math.inf])
@pytest.mark.parametrize("stage", STAGES)
def test_a_norm_that_is_no_number_clips_as_torch_does(stage: int, bad: float) -> None:
    def gradients(module):
        module(inputs_of(0)).sum().backward()
        return list(module.parameters())[-1]

    def program(comm):
        module = small_network()
        sharded = ZERO_STAGES[stage](comm, module, SGD)
        gradients(module)
        sharded.reduce_gradients()
        sharded.units[-1].shard.grad[-1] = bad
        sharded.clip_grad_norm_(0.3)
        return torch.cat([unit.shard.grad for unit in sharded.units])

    module = small_network()
    gradients(module).grad.view(-1)[-1] = bad
    nn.utils.clip_grad_norm_(module.parameters(), 0.3)
    theirs = torch.cat([parameter.grad.view(-1) for parameter in module.parameters()])
    assert torch.equal(simulate(program, 1).results[0].isnan(), theirs.isnan())


def test_a_module_without_parameters_is_refused_by_name() -> None:
    with pytest.raises(RankError, match="must have parameters that want a gradient, ReLU has none"):
        simulate(lambda comm: ZERO_STAGES[1](comm, nn.ReLU(), SGD) and None, 2)


def test_a_backward_pass_after_clipping_is_not_lost() -> None:
    def program(comm, stage):
        module = small_network()
        sharded = ZERO_STAGES[stage](comm, module, SGD)
        for _ in range(2):
            module(inputs_of(comm.rank)).sum().backward()
            sharded.clip_grad_norm_(1.0)
        sharded.step()

    with pytest.raises(RankError, match="a backward pass came after its gradients were reduced: clip after the last"):
        simulate(program, 2, (1,))
    simulate(program, 2, (2,))  # there each pass is reduced, and clipping twice is what one process would do


@pytest.mark.parametrize("stage", [2, 3])
def test_to_clip_gradients_that_lie_in_shards_is_refused_and_says_how(stage: int) -> None:
    def program(comm):
        module = small_network()
        ZERO_STAGES[stage](comm, module, SGD)
        module(inputs_of(0)).sum().backward()
        nn.utils.clip_grad_norm_(module.parameters(), 1.0)

    with pytest.raises(RankError, match=r"lies in its owners' shards: clip by sharded.clip_grad_norm_\(max_norm\)"):
        simulate(program, 2)


@pytest.mark.parametrize("stage", STAGES)
def test_a_state_that_is_loaded_is_what_training_goes_on_from(stage: int) -> None:
    def program(comm):
        module = small_network()
        state = {name: 2 * value for name, value in small_network().state_dict().items()}
        sharded = ZERO_STAGES[stage](comm, module, partial(torch.optim.SGD, lr=0.0))
        with sharded.whole():
            module.load_state_dict(state)
        module(inputs_of(comm.rank)).sum().backward()
        sharded.step()
        return same(whole_parameters(sharded), list(state.values()))

    assert simulate(program, 3).results == [True] * 3


@pytest.mark.parametrize("stage", STAGES)
def test_a_state_that_is_assigned_is_refused_by_name(stage: int) -> None:
    def program(comm):
        module = small_network()
        sharded = ZERO_STAGES[stage](comm, module, SGD)
        with sharded.whole():
            module.load_state_dict(small_network().state_dict(), assign=True)
        module(inputs_of(comm.rank)).sum().backward()
        sharded.step()

    with pytest.raises(RankError, match=r"0\.weight wants a gradient, and did not .* load a state with assign=False"):
        simulate(program, 2)


@pytest.mark.parametrize("stage", STAGES)
def test_values_put_elsewhere_come_into_the_row(stage: int) -> None:
    def program(comm):
        module = small_network()
        sharded = ZERO_STAGES[stage](comm, module, partial(torch.optim.SGD, lr=0.0))
        with sharded.whole():
            for parameter in module.parameters():
                parameter.data = torch.full_like(parameter, 7.0)
        module(inputs_of(comm.rank)).sum().backward()
        sharded.step()
        return all((parameter == 7).all() for parameter in whole_parameters(sharded))

    assert simulate(program, 3).results == [True] * 3


def test_values_given_to_a_freed_parameter_are_refused() -> None:
    def program(comm):
        module = small_network()
        ZERO_STAGES[3](comm, module, SGD)
        module[0].weight.data = torch.zeros(2, 3, dtype=torch.float64)
        module(inputs_of(comm.rank))

    with pytest.raises(RankError, match=r"0 was given values while it was freed: load inside sharded.whole\(\)"):
        simulate(program, 2)


@pytest.mark.parametrize("second", STAGES)
@pytest.mark.parametrize("first", [*STAGES, "wrapper"])
def test_a_module_that_is_sharded_again_trains_and_the_older_one_says_so(first: int | str, second: int) -> None:
    def program(comm):
        module = small_network()
        older = DataParallel(comm, module) if first == "wrapper" else ZERO_STAGES[first](comm, module, SGD)
        sharded = ZERO_STAGES[second](comm, module, SGD)
        module(inputs_of(comm.rank)).square().mean().backward()
        sharded.step()
        with pytest.raises(RuntimeError, match="again"):
            older(inputs_of(0)) if first == "wrapper" else older.step()
        return whole_parameters(sharded)

    expected, _ = joined(2, 1)
    assert all(same(result, expected) for result in simulate(program, 2).results)


@pytest.mark.parametrize("stage", STAGES)
def test_a_sharded_module_can_be_wrapped(stage: int) -> None:
    def program(comm):
        module = small_network()
        ZERO_STAGES[stage](comm, module, SGD)
        model, optimizer = DataParallel(comm, module), SGD(module.parameters())
        model(inputs_of(comm.rank)).square().mean().backward()
        optimizer.step()
        return [parameter.detach().clone() for parameter in module.parameters()]

    expected, _ = joined(3, 1)
    assert all(same(result, expected) for result in simulate(program, 3).results)


def broken_off(comm, stage: int, failing: list, place: int) -> list[torch.Tensor]:
    """One pass that some ranks break off behind a layer and a whole one; the parameters after a step of the second."""
    module = small_network()
    sharded = ZERO_STAGES[stage](comm, module, SGD)
    for fails in (True, False):
        sharded.zero_grad()
        hidden = inputs_of(comm.rank)
        for number, layer in enumerate(module):
            hidden = layer(hidden)
            if fails and number == place and comm.rank in failing:
                hidden.register_hook(lambda _: 1 / 0)
        try:
            hidden.square().mean().backward()
        except ZeroDivisionError:
            if stage > 1:
                sharded.finish()
    sharded.step()
    return whole_parameters(sharded)


@pytest.mark.parametrize("launch", [simulate, pytest.param(run, marks=pytest.mark.exhaustive)])
@pytest.mark.parametrize("place", range(4))
@pytest.mark.parametrize("failing", [[0], [1, 2], [0, 1, 2]])
@pytest.mark.parametrize("stage", STAGES)
def test_ranks_whose_backward_pass_failed_meet_the_others(stage: int, failing: list, place: int, launch) -> None:
    expected, _ = joined(3, 1)
    assert all(same(result, expected) for result in launch(broken_off, 3, (stage, failing, place)).results)


def test_a_tied_layer_outside_of_the_unit_is_refused_also_without_a_bias() -> None:
    class Tied(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.embedding, self.body = nn.Embedding(4, 3), nn.Linear(3, 3)
            self.output = nn.Linear(3, 4, bias=False)
            self.output.weight = self.embedding.weight

        def forward(self, tokens: torch.Tensor) -> torch.Tensor:
            return self.output(self.body(self.embedding(tokens)))

    def program(comm, stage, modules):
        module = Tied()
        chosen = None if modules is None else [dict(module.named_modules())[name] for name in modules]
        sharded = ZERO_STAGES[stage](comm, module, SGD, chosen)
        module(torch.tensor([comm.rank])).square().sum().backward()
        sharded.step()
        return len(sharded.units)

    for modules in (None, ["embedding"], ["body", "embedding"]):
        with pytest.raises(RankError, match="units must not share parameters, embedding and output do"):
            simulate(program, 2, (3, modules))
    assert simulate(program, 2, (3, ["body"])).results == [2, 2]  # what both need is the whole module's
    assert simulate(program, 2, (2, None)).results == [2, 2]


def test_a_copy_of_a_sharded_module_belongs_to_nobody() -> None:
    def program(comm):
        module = small_network()
        sharded = ZERO_STAGES[2](comm, module, SGD)
        module(inputs_of(0)).sum().backward()
        other = copy.deepcopy(module)
        other(inputs_of(0)).sum().backward()
        other.zero_grad()
        return other[0].weight.grad is None and sharded.units[0].shard.grad is not None

    assert simulate(program, 2).results == [True, True]
