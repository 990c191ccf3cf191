"""Any split of a batch over ranks and micro-batches, uneven and empty, is the training of one process."""

import copy
from functools import partial

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn
from torch.nn.utils import prune

from course_lib import RankError, simulate
from course_lib.data_parallel import DataParallel, average_gradients, average_gradients_in_buckets
from course_lib.data_parallel.zero import ZERO_STAGES

SGD = partial(torch.optim.SGD, lr=0.1, momentum=0.5, weight_decay=0.1)


def small_network() -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(3, 2), nn.Tanh(), nn.Linear(2, 1)).double()


def one_process(inputs: torch.Tensor, steps: int) -> nn.Module:
    module = small_network()
    optimizer = SGD(module.parameters())
    for _ in range(steps):
        optimizer.zero_grad()
        module(inputs).square().mean().backward()
        optimizer.step()
    return module.requires_grad_(False)


def split(inputs: torch.Tensor, cells: list[int], ranks: int) -> list[list[torch.Tensor]]:
    """The micro-batches of each rank: example i lies in cell cells[i], and cells are dealt to the ranks."""
    parts = [inputs[torch.tensor(cells) == cell] for cell in range(max(cells) + 1)]
    parts += [inputs[:0]] * (-len(parts) % ranks)
    return [parts[rank::ranks] for rank in range(ranks)]


def wrapped(comm, parts: list, batch: int, steps: int, overlap: bool) -> nn.Module:
    module = small_network()
    model, optimizer = DataParallel(comm, module, 30, overlap=overlap), SGD(module.parameters())
    for _ in range(steps):
        optimizer.zero_grad()
        *first, last = parts[comm.rank]
        with model.no_sync():
            for part in first:
                model.share = len(part) / batch
                model(part).square().mean().backward()
        model.share = len(last) / batch
        model(last).square().mean().backward()
        optimizer.step()
    return module.requires_grad_(False)


def sharded(comm, parts: list, batch: int, steps: int, stage: int) -> nn.Module:
    module = small_network()
    optimizer = ZERO_STAGES[stage](comm, module, SGD)
    for _ in range(steps):
        module.zero_grad()  # as every script of PyTorch does
        for part in parts[comm.rank]:
            optimizer.share = len(part) / batch
            module(part).square().mean().backward()
        optimizer.step()
    with optimizer.whole():
        return copy.deepcopy(module).requires_grad_(False)


WAYS = {
    "overlap": (wrapped, True),
    "after backward": (wrapped, False),
    **{f"stage {n}": (sharded, n) for n in ZERO_STAGES},
}


@pytest.mark.parametrize("way", WAYS)
@settings(max_examples=12)
@given(st.integers(1, 5), st.lists(st.integers(0, 9), min_size=1, max_size=9), st.integers(0, 99))
def test_any_split_over_ranks_and_micro_batches_is_one_process(way: str, ranks: int, cells: list, seed: int) -> None:
    inputs = torch.randn(len(cells), 3, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))
    program, option = WAYS[way]
    joined = one_process(inputs, steps=2)
    for result in simulate(program, ranks, (split(inputs, cells, ranks), len(cells), 2, option)).results:
        for ours, theirs in zip(result.parameters(), joined.parameters(), strict=True):
            torch.testing.assert_close(ours, theirs, rtol=1e-10, atol=1e-12)


def test_a_share_that_is_said_between_the_passes_counts() -> None:
    def program(comm):
        model = DataParallel(comm, nn.Linear(1, 1, bias=False))
        loss = model(torch.full((1, 1), comm.rank + 1.0)).sum()
        model.share = [0.25, 0.75][comm.rank]
        loss.backward()
        return model.module.weight.grad.item()

    assert simulate(program, 2).results == [1.75] * 2


def test_a_gradient_that_autograd_gives_to_its_caller_is_not_weighed() -> None:
    def program(comm):
        model = DataParallel(comm, nn.Linear(1, 1, bias=False))
        model.share = [0.25, 0.75][comm.rank]
        return torch.autograd.grad(model(torch.ones(1, 1)).sum(), list(model.parameters()))[0].item()

    assert simulate(program, 2).results == [1.0, 1.0]


WRAPPERS = {
    "per parameter": lambda comm, module: average_gradients(comm, module),
    "buckets": lambda comm, module: average_gradients_in_buckets(comm, module, bucket_bytes=8),
    "wrapper": None,
}


class Partly(nn.Module):
    """Two used layers, one that rank 0 alone uses, one that nobody uses; the first can be frozen."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(1, 1) for _ in range(4))

    def forward(self, inputs: torch.Tensor, rank: int) -> torch.Tensor:
        hidden = self.layers[1](self.layers[0](inputs))
        return self.layers[2](hidden) if rank == 0 else hidden


@pytest.mark.parametrize("way", WRAPPERS)
@pytest.mark.parametrize("ranks", [1, 3])
def test_what_is_frozen_or_unused_everywhere_is_not_moved_by_weight_decay(way: str, ranks: int) -> None:
    def program(comm):
        torch.manual_seed(0)
        module = Partly()
        before = copy.deepcopy(module).requires_grad_(False)
        model = DataParallel(comm, module) if way == "wrapper" else module
        module.layers[0].requires_grad_(False)
        optimizer = torch.optim.AdamW(module.parameters(), lr=0.1, weight_decay=0.5)
        for _ in range(2):
            optimizer.zero_grad()
            model(torch.ones(1, 1), comm.rank).sum().backward()
            if way != "wrapper":
                WRAPPERS[way](comm, module)
            optimizer.step()
        pairs = zip(module.layers, before.layers, strict=True)
        return [bool((now.weight != then.weight).any()) for now, then in pairs]

    assert simulate(program, ranks).results == [[False, True, True, False]] * ranks


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float64, torch.complex64])
def test_a_gradient_of_zeros_is_a_gradient_in_every_dtype(dtype: torch.dtype) -> None:
    def program(comm):
        model = DataParallel(comm, nn.ParameterList([torch.ones(2, dtype=dtype), torch.ones(0, dtype=dtype)]))
        for parameter in model.module:
            (parameter * -0.0).sum().abs().backward()
        return [parameter.grad.tolist() for parameter in model.module]

    assert simulate(program, 2).results == [[[0, 0], []]] * 2


def test_what_is_thawed_or_replaced_after_wrapping_is_named() -> None:
    def thawed(comm, module):
        model = DataParallel(comm, module)
        module[0].bias.requires_grad_(True)
        model(torch.ones(1, 2))

    def assigned(comm, module):
        model = DataParallel(comm, module)
        module.load_state_dict(copy.deepcopy(module.state_dict()), assign=True)
        model(torch.ones(1, 2))

    for program, name in ((thawed, r"0\.bias"), (assigned, r"0\.weight")):
        module = nn.Sequential(nn.Linear(2, 2))
        module[0].bias.requires_grad_(False)
        with pytest.raises(RankError, match=rf"{name} wants a gradient, and did not .*: wrap it again"):
            simulate(program, 1, (module,))


def test_a_cell_that_wraps_can_be_run_again_and_the_older_wrapper_says_so() -> None:
    def program(comm):
        module = nn.Linear(1, 1, bias=False)
        older = DataParallel(comm, module)
        model = DataParallel(comm, module)
        model.share = [0.25, 0.75][comm.rank]
        model(torch.full((1, 1), comm.rank + 1.0)).sum().backward()
        with pytest.raises(RuntimeError, match="was wrapped again"):
            older(torch.ones(1, 1))
        return module.weight.grad.item()

    assert simulate(program, 2).results == [1.75] * 2


def test_pruning_after_wrapping_keeps_the_parameters_that_are_averaged() -> None:
    def program(comm):
        module = nn.Linear(2, 1, bias=False)
        model = DataParallel(comm, module)
        prune.custom_from_mask(module, "weight", torch.tensor([[1.0, 0.0]]))
        model(torch.full((1, 2), comm.rank + 1.0)).sum().backward()
        return module.weight_orig.grad.tolist()

    assert simulate(program, 2).results == [[[1.5, 0.0]]] * 2
