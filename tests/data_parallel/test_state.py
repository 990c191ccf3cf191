"""One state on all ranks: handed out whole, and a difference of one bit is named."""

import pytest
import torch
from torch import nn

from course_lib import RankError, run, simulate
from course_lib.data_parallel import broadcast_state, check_agreement, state_hash


def make_module(seed: int) -> nn.Module:
    """Parameters and buffers of many dtypes and layouts, other numbers for each seed."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        module = nn.Sequential(nn.Conv2d(2, 3, 2), nn.BatchNorm2d(3), nn.Linear(4, 3).to(torch.bfloat16))
        module[0].to(memory_format=torch.channels_last)
        module.register_buffer("mask", torch.rand(5) > 0.5)
        module.register_buffer("spare", torch.randn(4, dtype=torch.float64), persistent=False)
        module[1].num_batches_tracked.fill_(seed)
        return module


def broadcast_then_hash(comm, src: int) -> tuple[str, str]:
    module = make_module(seed=comm.rank)
    before = state_hash(module)
    broadcast_state(comm, module, src)
    check_agreement(comm, module)
    return before, state_hash(module)


@pytest.mark.parametrize(("world_size", "src"), [(1, 0), (2, 1), (5, 3)])
def test_every_rank_holds_the_state_of_the_source(world_size: int, src: int) -> None:
    before, after = zip(*simulate(broadcast_then_hash, world_size, (src,)).results, strict=True)
    assert len(set(before)) == world_size
    assert set(after) == {before[src]}


def test_the_hash_is_the_same_in_other_processes() -> None:
    (_, first), (_, second) = run(broadcast_then_hash, 2, (0,)).results
    assert first == second == state_hash(make_module(seed=0))


def test_the_hash_of_given_numbers_never_changes() -> None:
    assert state_hash(nn.ParameterDict({"weight": torch.zeros(1, 1)})) == "94f8a326ed888463106c1f3eb55e7bf9"


@pytest.mark.parametrize("name", ["0.weight", "0.bias", "1.running_var", "1.num_batches_tracked", "mask", "spare"])
def test_one_other_bit_makes_another_hash(name: str) -> None:
    module = make_module(seed=0)
    before = state_hash(module)
    memory = dict([*module.named_parameters(), *module.named_buffers()])[name].untyped_storage()
    memory[0] = memory[0] ^ 1
    assert state_hash(module) != before


def test_swapped_weights_and_other_shapes_make_other_hashes() -> None:
    hashes = set()
    for first, second in ((torch.zeros(2), torch.ones(2)), (torch.ones(2), torch.zeros(2))):
        hashes.add(state_hash(nn.ParameterList([first, second])))
    ones = torch.ones(2, 3), torch.ones(3, 2), torch.ones(3, 2, dtype=torch.float64), torch.zeros(3, 2)
    hashes |= {state_hash(nn.ParameterList([tensor])) for tensor in ones}
    assert len(hashes) == 6


def spoil(comm, spoiled: dict[int, float]) -> None:
    module = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2), nn.Linear(2, 2))
    broadcast_state(comm, module)
    with torch.no_grad():
        module[1].bias[0] = spoiled.get(comm.rank, 0.0)
    check_agreement(comm, module)


def test_agreement_passes_and_costs_one_all_gather() -> None:
    assert simulate(spoil, 4, ({},)).results == [None] * 4


@pytest.mark.parametrize(
    ("spoiled", "words"),
    [
        ({2: 1.0}, "ranks 0, 1, 3 against\n  rank 2: other numbers in 1.bias"),
        ({0: 1.0}, "ranks 1, 2, 3 against\n  rank 0: other numbers in 1.bias"),
        ({1: 1.0, 3: 2.0}, "ranks 0, 2 against\n  rank 1: other numbers in 1.bias\n  rank 3: other"),
        ({2: 1.0, 3: 1.0}, "ranks 0, 1 against\n  ranks 2, 3: other numbers in 1.bias"),
        ({1: -0.0}, "ranks 0, 2, 3 against\n  rank 1: other numbers in 1.bias"),
    ],
)
def test_the_ranks_that_differ_are_named_with_what_differs(spoiled: dict, words: str) -> None:
    with pytest.raises(RankError, match="DisagreementError") as caught:
        simulate(spoil, 4, (spoiled,))
    assert words in str(caught.value)


def test_many_differences_are_counted() -> None:
    def program(comm):
        torch.manual_seed(comm.rank)
        check_agreement(comm, nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2), nn.Linear(2, 2)))

    with pytest.raises(RankError, match=r"0.weight, 0.bias, 1.weight and 3 more"):
        simulate(program, 2)


@pytest.mark.parametrize("make", [nn.ReLU, lambda: nn.ParameterList([torch.empty(0, 3), torch.ones(())])])
def test_modules_without_numbers_agree_too(make) -> None:
    def program(comm):
        module = make()
        broadcast_state(comm, module)
        return check_agreement(comm, module)

    assert simulate(program, 3).results == [None] * 3


def test_modules_of_other_structures_are_told_apart_by_their_tensors() -> None:
    def program(comm, modules):
        check_agreement(comm, modules[comm.rank])

    wider = [nn.Linear(2, 2), nn.Linear(2, 2), nn.Sequential(nn.Linear(2, 3), nn.Linear(3, 1))]
    with pytest.raises(
        RankError, match=r"the ranks do not hold the same tensors:\n  rank 0 has bias torch.float32 \[2\],"
    ):
        simulate(program, 3, (wider,))
    empty = [nn.ReLU(), nn.Linear(1, 1)]
    with pytest.raises(RankError, match=r"rank 1 has bias torch.float32 \[1\], weight torch.float32 \[1, 1\]"):
        simulate(program, 2, (empty,))
    orders = [nn.Sequential(nn.Linear(1, 1)), nn.Sequential(nn.Linear(1, 1).double())]
    with pytest.raises(RankError, match=r"rank 1 has 0.bias torch.float64"):
        simulate(program, 2, (orders,))


def test_an_expanded_buffer_is_broadcast_too() -> None:
    def program(comm):
        module = nn.Module()
        module.register_buffer("wide", torch.full((1, 3, 1), float(comm.rank)).expand(2, 3, 4))
        module.register_buffer("turned", torch.full((2, 3), float(comm.rank)).T)
        broadcast_state(comm, module, src=1)
        check_agreement(comm, module)
        return module.wide.unique().tolist(), module.turned.unique().tolist()

    assert simulate(program, 3).results == [([1.0], [1.0])] * 3
