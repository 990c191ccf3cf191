"""Sharded training makes the weights of unsharded training; what a rank holds and sends is what the formulas say."""

import copy
import itertools
from functools import partial

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn
from torch.multiprocessing.reductions import StorageWeakRef
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves
from torch.utils.checkpoint import checkpoint

from course_lib import RankError, run, simulate
from course_lib.data_parallel import check_agreement, state_hash
from course_lib.data_parallel.zero import (
    FP32_ADAM,
    FP32_MOMENTUM,
    ZERO_STAGES,
    Held,
    elements_held,
    memory_moments,
    zero_bytes,
    zero_elements_sent,
    zero_parts,
)

STAGES = list(ZERO_STAGES)
ADAM = partial(torch.optim.Adam, lr=0.01)
MOMENTUM = partial(torch.optim.SGD, lr=0.1, momentum=0.9)


def one_process(module: nn.Module, inputs: torch.Tensor, make_optimizer, steps: int) -> nn.Module:
    """Train on the joined batch."""
    optimizer = make_optimizer(module.parameters())
    for _ in range(steps):
        optimizer.zero_grad()
        module(inputs).square().mean().backward()
        optimizer.step()
    return module


def many_ranks(comm, stage: int, module: nn.Module, inputs: torch.Tensor, make_optimizer, steps: int) -> nn.Module:
    """Train on this rank's part, sharded; returns the whole module, which all ranks were seen to agree on."""
    sharded = ZERO_STAGES[stage](comm, module, make_optimizer)
    part = inputs.tensor_split(comm.world_size)[comm.rank]
    sharded.share = len(part) / len(inputs)
    for _ in range(steps):
        sharded.zero_grad()
        module(part).square().mean().backward()
        sharded.step()
    with sharded.whole():
        check_agreement(comm, module)
        return copy.deepcopy(module).requires_grad_(False)


def layers(*sizes: int, bias: bool = True) -> nn.Sequential:
    return nn.Sequential(*(nn.Linear(a, b, bias=bias) for a, b in itertools.pairwise(sizes)))


def lengths(module: nn.Module) -> list[int]:
    """Parameters of each layer."""
    return [sum(parameter.numel() for parameter in layer.parameters()) for layer in module]


@pytest.mark.parametrize("stage", STAGES)
def test_one_step_of_two_ranks_by_hand(stage: int) -> None:
    def program(comm):
        module = nn.Sequential(nn.Linear(3, 1, bias=False))
        nn.init.zeros_(module[0].weight)
        sharded = ZERO_STAGES[stage](comm, module, partial(torch.optim.SGD, lr=1.0))
        inputs = torch.tensor([[[1.0, 2.0, 3.0]], [[10.0, 20.0, 30.0]]])[comm.rank]
        module(inputs).sum().backward()
        sharded.step()
        with sharded.whole():
            return module[0].weight.tolist(), sharded.units[0].shard.tolist()

    weights = [[-5.5, -11.0, -16.5]]  # minus the mean of the two gradients, which are the inputs
    assert simulate(program, 2).results == [(weights, [-5.5, -11.0]), (weights, [-16.5])]


# Whole numbers, parts of eight examples that are powers of two, and rates that are: then every sum is exact.
@pytest.mark.parametrize("world_size", [1, 2, 4, 8])
@pytest.mark.parametrize("stage", STAGES)
def test_the_weights_equal_those_of_one_process_to_the_last_bit(stage: int, world_size: int) -> None:
    generator = torch.Generator().manual_seed(0)
    module = nn.Sequential(nn.Linear(3, 5), nn.ReLU(), nn.Linear(5, 2)).double()
    for parameter in module.parameters():
        parameter.data = torch.randint(-2, 3, parameter.shape, generator=generator).double()
    inputs = torch.randint(-3, 4, (8, 3), generator=generator).double()
    make = partial(torch.optim.SGD, lr=2**-4, momentum=0.5)
    joined = one_process(copy.deepcopy(module), inputs, make, steps=2)
    report = simulate(many_ranks, world_size, (stage, module, inputs, make, 2))
    assert {state_hash(result) for result in report.results} == {state_hash(joined)}
    assert state_hash(joined) != state_hash(module)


@settings(max_examples=30)
@given(
    stage=st.sampled_from(STAGES),
    world_size=st.integers(1, 5),
    examples=st.integers(1, 9),
    sizes=st.lists(st.integers(1, 6), min_size=2, max_size=4),
    make=st.sampled_from([ADAM, MOMENTUM, partial(torch.optim.AdamW, lr=0.01, weight_decay=0.1)]),
    seed=st.integers(0, 1000),
)
def test_the_weights_equal_those_of_one_process_to_rounding(stage, world_size, examples, sizes, make, seed) -> None:
    # Also on ranks without an example, and on ranks that own nothing of a unit.
    torch.manual_seed(seed)
    module, inputs = layers(*sizes).double(), torch.randn(examples, sizes[0], dtype=torch.float64)
    joined = one_process(copy.deepcopy(module), inputs, make, steps=3)
    for result in simulate(many_ranks, world_size, (stage, module, inputs, make, 3)).results:
        for ours, theirs in zip(result.parameters(), joined.parameters(), strict=True):
            torch.testing.assert_close(ours, theirs.detach(), rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("stage", STAGES)
def test_real_processes_make_the_weights_of_the_simulator_to_the_last_bit(stage: int) -> None:
    torch.manual_seed(0)
    args = stage, layers(4, 5, 3), torch.randn(7, 4), ADAM, 3
    real, simulated = run(many_ranks, 3, args), simulate(many_ranks, 3, args)
    assert {state_hash(module) for module in [*real.results, *simulated.results]} == {state_hash(real.results[0])}
    assert real.trace.bytes_sent == simulated.trace.bytes_sent


def steps_only(comm, stage: int, module: nn.Module, steps: int, micro_batches: int = 1) -> None:
    sharded = ZERO_STAGES[stage](comm, module, ADAM)
    for _ in range(steps):
        sharded.zero_grad()
        for _ in range(micro_batches):
            module(torch.ones(2, module[0].in_features)).square().mean().backward()
        sharded.step()


@pytest.mark.parametrize("sizes", [(4, 5, 3), (4, 3, 7, 2)])
@pytest.mark.parametrize("world_size", [1, 2, 3, 4, 5])
@pytest.mark.parametrize("stage", STAGES)
def test_the_trace_shows_the_elements_of_the_formula(stage: int, world_size: int, sizes: tuple) -> None:
    module = layers(*sizes)
    trace = simulate(steps_only, world_size, (stage, module, 2)).trace
    expected = zero_elements_sent(lengths(module), world_size, stage)
    assert trace.bytes_sent == [2 * 4 * elements for elements in expected]


@pytest.mark.parametrize(("stage", "times"), [(1, 1.5), (2, 3.75), (3, 9)])
def test_micro_batches_cost_stages_2_and_3_a_reduction_each(stage: int, times: float) -> None:
    module = layers(4, 8, 8, bias=False)
    trace = simulate(steps_only, 4, (stage, module, 1, 4)).trace
    assert trace.bytes_sent == [4 * times * 96] * 4
    assert zero_elements_sent(lengths(module), 4, stage, micro_batches=4) == (times * 96,) * 4


@pytest.mark.parametrize(("stage", "times"), [(1, 2), (2, 2), (3, 3)])
def test_every_rank_sends_two_or_three_times_the_parameters(stage: int, times: int) -> None:
    module = layers(4, 8, 8, bias=False)  # 32 and 64 parameters: four ranks divide them
    trace = simulate(steps_only, 4, (stage, module, 1)).trace
    assert trace.bytes_sent == [4 * times * 96 * 3 // 4] * 4


def held_after_backward(comm, stage: int, make_optimizer) -> Held:
    """What a rank holds when the second backward pass is over: parameters, gradients and states."""
    module = layers(12, 12, 12, bias=False)
    sharded = ZERO_STAGES[stage](comm, module, make_optimizer)
    for _ in range(2):
        sharded.zero_grad()
        module(torch.ones(2, 12)).square().mean().backward()
        held = elements_held(sharded)
        sharded.step()
    return held


@pytest.mark.parametrize("world_size", [1, 2, 3, 4])
@pytest.mark.parametrize("stage", STAGES)
def test_a_rank_holds_what_the_memory_formula_says(stage: int, world_size: int) -> None:
    parts = zero_parts(288, world_size, stage, FP32_MOMENTUM)
    for held in simulate(held_after_backward, world_size, (stage, MOMENTUM)).results:
        assert [4 * elements for elements in held] == list(parts.values())
    parts = zero_parts(288, world_size, stage, FP32_ADAM)
    for held in simulate(held_after_backward, world_size, (stage, ADAM)).results:
        assert held.states == parts["optimizer states"] / 4 + 2  # and Adam's count of steps, one for each unit


def test_the_memory_of_table_1() -> None:
    # Published: Rajbhandari et al. 2019, table 1, 7.5 B parameters in GB.
    published = {1: (120, 120, 120), 4: (52.5, 41.3, 30), 16: (35.6, 21.6, 7.5), 64: (31.4, 16.6, 1.88)}
    for world_size, gigabytes in published.items():
        for stage, expected in zip((1, 2, 3), gigabytes, strict=True):
            assert zero_bytes(7.5e9, world_size, stage) / 1e9 == pytest.approx(expected, rel=3e-3)
    assert zero_bytes(7.5e9, 64, stage=0) == 120e9


def moments_of_a_step(comm, stage: int) -> list:
    module = layers(4, 4, 4, 4, bias=False)
    sharded = ZERO_STAGES[stage](comm, module, MOMENTUM)
    with memory_moments(sharded) as moments:
        for _ in range(2):
            sharded.zero_grad()
            module(torch.ones(1, 4)).sum().backward()
            sharded.step()
    return [(label, tuple(held)) for label, held in moments[len(moments) // 2 :]]


def test_what_a_step_of_each_stage_holds_by_hand() -> None:
    # Three layers of 16 parameters on two ranks. A gradient is there twice while it moves into its row.
    assert simulate(moments_of_a_step, 2, (1,)).results[0] == [
        ("reduce 2", (48, 48 + 16, 24)),
        ("reduce 1", (48, 32 + 16 + 8, 24)),
        ("reduce 0", (48, 16 + 16 + 16, 24)),
        ("step", (48, 24, 24)),
    ]
    assert simulate(moments_of_a_step, 2, (2,)).results[0] == [
        ("reduce 2", (48, 16 + 16, 24)),
        ("reduce 1", (48, 16 + 16 + 8, 24)),
        ("reduce 0", (48, 16 + 16 + 16, 24)),
        ("backward", (48, 24, 24)),
        ("step", (48, 24, 24)),
    ]
    forward = [(f"{what} {n}", (24 + 16 * (what == "gather"), 0, 24)) for n in range(3) for what in ("gather", "free")]
    assert simulate(moments_of_a_step, 2, (3,)).results[0] == [
        *forward,
        *[("gather 2", (40, 0, 24)), ("reduce 2", (40, 32, 24)), ("free 2", (24, 8, 24))],
        *[("gather 1", (40, 8, 24)), ("reduce 1", (40, 40, 24)), ("free 1", (24, 16, 24))],
        *[("gather 0", (40, 16, 24)), ("reduce 0", (40, 48, 24)), ("free 0", (24, 24, 24))],
        ("backward", (24, 24, 24)),
        ("step", (24, 24, 24)),
    ]


def storages(tree) -> dict:
    """The memory of the tensors in nested lists."""
    tensors = [leaf for leaf in tree_leaves(tree) if isinstance(leaf, torch.Tensor)]
    return {tensor.untyped_storage()._cdata: tensor.untyped_storage() for tensor in tensors}


class Allocations(TorchDispatchMode):
    """Knows the memory that a rank's operations have made, whoever holds it."""

    def __init__(self) -> None:
        super().__init__()
        self.known: dict[int, StorageWeakRef] = {}

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        result = function(*args, **(kwargs or {}))
        known = storages((args, kwargs))  # a copy into what another rank has made is no memory of this rank
        self.known |= {key: StorageWeakRef(new) for key, new in storages(result).items() if key not in known}
        return result

    def alive(self) -> int:
        """Elements of float32 that are still there."""
        found = [torch.UntypedStorage._new_with_weak_ptr(known.cdata) for known in self.known.values()]
        return sum(storage.nbytes() for storage in found if storage is not None) // 4


@pytest.mark.parametrize("stage", STAGES)
def test_no_memory_is_held_that_is_not_counted(stage: int) -> None:
    width = 40

    def program(comm):
        with Allocations() as allocations:
            module = layers(*[width] * 6, bias=False)
            sharded, uncounted = ZERO_STAGES[stage](comm, module, MOMENTUM), []
            sharded.watch = lambda label: uncounted.append(allocations.alive() - elements_held(sharded).total)
            for _ in range(3):
                sharded.zero_grad()
                module(torch.ones(1, width)).square().mean().backward()
                sharded.step()
        return uncounted

    for uncounted in simulate(program, 4).results:
        assert len(uncounted) >= 3 * 6
        assert min(uncounted) >= 0
        assert max(uncounted) < 400  # activations of one example: 6 × width; the smallest shard has width² / 4


class Odd(nn.Module):
    """Parameters of its own, a list of blocks, one of them called twice and one never, a frozen weight, a buffer."""

    def __init__(self, repeats_forward: bool = False) -> None:
        super().__init__()
        self.repeats_forward = repeats_forward
        self.scale = nn.Parameter(torch.full((2,), 0.5))
        self.temperature = nn.Parameter(torch.tensor(0.7))  # without a dimension
        self.blocks = nn.ModuleList(nn.Sequential(nn.Linear(2, 3), nn.Tanh(), nn.Linear(3, 2)) for _ in range(3))
        self.frozen = nn.Parameter(torch.ones(2), requires_grad=False)
        self.norm = nn.LayerNorm(2)

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        for block in (self.blocks[0], self.blocks[1], self.blocks[0]):
            hidden = checkpoint(block, inputs, use_reentrant=False) if self.repeats_forward else block(inputs)
            inputs = hidden.relu_() + inputs
        return self.norm(inputs * self.scale) * self.frozen * self.scale * self.temperature


@pytest.mark.parametrize("repeats_forward", [False, True])
@pytest.mark.parametrize("stage", STAGES)
def test_modules_of_many_kinds_are_trained_as_by_one_process(stage: int, repeats_forward: bool) -> None:
    torch.manual_seed(0)
    module, inputs = Odd(repeats_forward).double(), torch.randn(6, 2, dtype=torch.float64)
    joined = one_process(copy.deepcopy(module), inputs, ADAM, steps=3)
    for result in simulate(many_ranks, 3, (stage, module, inputs, ADAM, 3)).results:
        for ours, theirs in zip(result.parameters(), joined.parameters(), strict=True):
            torch.testing.assert_close(ours, theirs.detach(), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("stage", STAGES)
def test_units_are_the_children_and_what_belongs_to_none(stage: int) -> None:
    def program(comm):
        units = ZERO_STAGES[stage](comm, Odd(), ADAM).units
        coarse = ZERO_STAGES[stage](comm, module := Odd(), ADAM, modules=[module]).units
        return [(unit.name, unit.row.numel()) for unit in units], [(unit.name, unit.row.numel()) for unit in coarse]

    names = [("root", 3), ("blocks.0", 17), ("blocks.1", 17), ("blocks.2", 17), ("norm", 4)]
    assert simulate(program, 2).results == [(names, [("root", 58)])] * 2


def accumulate(comm, stage: int) -> torch.Tensor:
    """The gradient of two backward passes, as it lies in this rank's shard."""
    module = layers(4, 4, bias=False)
    nn.init.ones_(module[0].weight)
    sharded = ZERO_STAGES[stage](comm, module, partial(torch.optim.SGD, lr=0.0))
    for number in (1.0, 10.0):
        module(torch.full((1, 4), number * (comm.rank + 1))).sum().backward()
    sharded.step()
    return sharded.units[0].shard.grad


def test_accumulated_gradients_add_up_and_only_stage_1_sends_them_once() -> None:
    for stage, elements in {1: 8 + 8, 2: 2 * 8 + 8, 3: 2 * 3 * 8}.items():
        report = simulate(accumulate, 2, (stage,))
        assert [grad.tolist() for grad in report.results] == [[16.5] * 8] * 2  # (1 + 2)/2 + (10 + 20)/2
        assert report.trace.bytes_sent == [4 * elements] * 2


def test_ranks_that_make_gradients_in_other_orders_agree_on_the_order_of_units() -> None:
    def program(comm):
        module = nn.ModuleList(layers(1, 1, 1, bias=False))
        nn.init.constant_(module[0].weight, 2.0), nn.init.constant_(module[1].weight, 3.0)
        sharded = ZERO_STAGES[2](comm, module, ADAM)
        inputs = torch.full((1, 1), 1.0 + comm.rank)
        for layer in module if comm.rank else reversed(module):
            inputs = layer(inputs)
        inputs.sum().backward()
        return [unit.shard.grad.tolist() for unit in sharded.units]

    assert simulate(program, 2).results == [[[4.5], [3.0]], [[], []]]


@pytest.mark.parametrize("stage", [2, 3])
def test_a_second_gradient_in_one_backward_pass_is_refused(stage: int) -> None:
    def program(comm):
        twice, last = module = layers(1, 1, 1)
        ZERO_STAGES[stage](comm, module, ADAM)
        inputs = torch.ones(1, 1, requires_grad=True)
        once = checkpoint(twice, inputs, use_reentrant=True)
        last(checkpoint(twice, once, use_reentrant=True)).sum().backward()

    with pytest.raises(RankError, match="0 got a second gradient in one backward pass"):
        simulate(program, 1)


@pytest.mark.parametrize("stage", STAGES)
def test_after_an_error_in_a_backward_pass_training_goes_on(stage: int) -> None:
    def program(comm):
        module = layers(1, 1, 1, bias=False)
        for layer in module:
            nn.init.ones_(layer.weight)
        sharded = ZERO_STAGES[stage](comm, module, partial(torch.optim.SGD, lr=1.0))
        for fails in (True, False):
            sharded.zero_grad()
            hidden = module[0](torch.full((1, 1), comm.rank + 1.0))
            if fails:
                hidden.register_hook(lambda _: 1 / 0)
            try:
                module[1](hidden).sum().backward()
            except ZeroDivisionError:
                if stage > 1:
                    sharded.finish()
        sharded.step()
        with sharded.whole():
            return [layer.weight.item() for layer in module]

    assert simulate(program, 2).results == [[-0.5, -0.5]] * 2


def test_outside_of_a_pass_the_parameters_of_stage_3_are_empty() -> None:
    def program(comm):
        module = layers(4, 4)
        sharded = ZERO_STAGES[3](comm, module, ADAM)
        outside = [tuple(parameter.shape) for parameter in module.parameters()]
        with sharded.whole():
            inside = module[0].weight.detach().numpy().shape
            module(torch.ones(1, 4))
            inside_after_a_pass = tuple(module[0].weight.shape)
        module[0](torch.ones(1, 4)).sum().backward()
        return outside, inside, inside_after_a_pass, module[0].weight.numel()

    assert simulate(program, 2).results == [([(0,), (0,)], (4, 4), (4, 4), 0)] * 2


def test_after_a_pass_that_failed_the_next_one_sees_the_new_parameters() -> None:
    def program(comm):
        module = layers(1, 1, bias=False)
        nn.init.ones_(module[0].weight)
        sharded = ZERO_STAGES[3](comm, module, partial(torch.optim.SGD, lr=1.0))
        with pytest.raises(RuntimeError, match="shapes cannot be multiplied"):
            module(torch.ones(1, 7))
        assert module[0].weight.numel() == 0
        module(torch.ones(1, 1)).sum().backward()
        sharded.step()
        return module(torch.ones(1, 1)).item()

    assert simulate(program, 2).results == [0.0, 0.0]


def test_what_cannot_be_sharded_is_refused() -> None:
    def tied(comm, stage):
        module = layers(2, 2, 2)
        module[1].weight = module[0].weight
        return [unit.row.numel() for unit in ZERO_STAGES[stage](comm, module, ADAM).units]

    def mixed(comm):
        module = nn.Sequential(layers(2, 2).append(nn.Linear(2, 2).double()))
        return [(unit.name, unit.row.dtype) for unit in ZERO_STAGES[1](comm, module, ADAM).units]

    assert simulate(tied, 2, (2,)).results == [[6, 2]] * 2
    with pytest.raises(RankError, match="units must not share parameters, 0 and 1 do"):
        simulate(tied, 2, (3,))
    assert simulate(mixed, 1).results == [[("0", torch.float32), ("0 in float64", torch.float64)]]  # a unit for each


def test_stages_and_ranks_that_do_not_exist_are_refused() -> None:
    for stage in (-1, 4):
        with pytest.raises(ValueError, match=f"stage must be 0, 1, 2 or 3, got {stage}"):
            zero_bytes(1.0, 1, stage)
        with pytest.raises(ValueError, match=f"stage must be 1, 2 or 3, got {stage}"):
            zero_elements_sent([1], 1, stage)
    with pytest.raises(ValueError, match="world_size must be at least 1, got 0"):
        zero_parts(1.0, 0, 1)
