"""After k steps on R ranks the weights are those of one process on the joined batches, however they are averaged."""

import copy
import itertools
from functools import partial

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn
from torch.nn import functional

from course_lib import RankError, simulate
from course_lib.collectives import ALL_REDUCES
from course_lib.data_parallel import (
    DataParallel,
    average_gradients,
    average_gradients_in_buckets,
    batch_share,
    broadcast_state,
    check_agreement,
    epoch_order,
    epoch_shards,
    global_batches,
    state_hash,
)
from course_lib.data_parallel.zero import ZERO_STAGES

WAYS = ["per parameter", "buckets", "after backward", "overlap", "accumulation"]


def whole_numbers(module: nn.Module) -> nn.Module:
    """The module in float64, its parameters small whole numbers: sums of their gradients are exact in any order."""
    generator = torch.Generator().manual_seed(3)
    with torch.no_grad():
        for parameter in module.double().parameters():
            parameter.copy_(torch.randint(-2, 3, parameter.shape, generator=generator))
    return module


def part_loss(model: nn.Module, data: tuple, examples: torch.Tensor) -> torch.Tensor:
    """The mean loss of these examples: not a number if there are none."""
    inputs, targets = data
    return functional.mse_loss(model(inputs[examples]), targets[examples])


def one_process(module: nn.Module, data: tuple, batch_size: int, epochs: int, **options) -> nn.Module:
    """Train on whole batches."""
    optimizer = torch.optim.SGD(module.parameters(), **options)
    for epoch in range(epochs):
        for batch in global_batches(epoch_order(len(data[0]), epoch=epoch), batch_size):
            optimizer.zero_grad()
            part_loss(module, data, batch).backward()
            optimizer.step()
    return module


def backward(comm, way: str, model: nn.Module, data: tuple, shard, bucket_bytes: int) -> None:
    """Leave the gradient of the joined batch in the model's parameters, in the given way."""
    model.share = shard.share
    count = len(shard.examples)
    if way == "accumulation":
        first, last = shard.examples.tensor_split(2)
        with model.no_sync():
            if len(first):
                (part_loss(model, data, first) * (len(first) / count)).backward()
        if len(last):
            (part_loss(model, data, last) * (len(last) / count)).backward()
        else:
            model.finish()
    else:
        part_loss(model, data, shard.examples).backward()
    if way == "per parameter":
        average_gradients(comm, model, examples=count)
    if way == "buckets":
        average_gradients_in_buckets(comm, model, examples=count, bucket_bytes=bucket_bytes)


def many_ranks(comm, way: str, module, data, batch_size: int, epochs: int, shares, bucket_bytes: int, **options):
    """Train on this rank's parts; returns the module, which all ranks were seen to agree on."""
    if comm.rank:  # only rank 0 has the right start
        for parameter in module.parameters():
            parameter.detach().fill_(comm.rank)
    broadcast_state(comm, module)
    wrapped = way not in ("per parameter", "buckets")
    model = DataParallel(comm, module, bucket_bytes, overlap=way != "after backward") if wrapped else module
    optimizer = torch.optim.SGD(model.parameters(), **options)
    for epoch in range(epochs):
        places = {"rank": comm.rank, "world_size": comm.world_size, "shares": shares}
        for shard in epoch_shards(len(data[0]), batch_size, epoch=epoch, **places):
            optimizer.zero_grad()
            backward(comm, way, model, data, shard, bucket_bytes)
            optimizer.step()
    check_agreement(comm, module)
    return module


def joined_and_split(module, data, way, shares, batch_size, epochs, bucket_bytes=100, **options) -> tuple:
    """The module trained by one process, and by as many ranks as there are shares."""
    joined = one_process(copy.deepcopy(module), data, batch_size, epochs, **options)
    args = way, module, data, batch_size, epochs, shares, bucket_bytes
    return joined, simulate(many_ranks, len(shares), args, options).results[0]


def test_the_mean_of_two_ranks_by_hand() -> None:
    def program(comm):
        module = nn.Linear(1, 1, bias=False)
        module.weight.grad = torch.full((1, 1), [4.0, 8.0][comm.rank])
        average_gradients(comm, module)
        equal = module.weight.grad.item()
        module.weight.grad = torch.full((1, 1), [4.0, 8.0][comm.rank])
        average_gradients(comm, module, examples=[3, 1][comm.rank])
        return equal, module.weight.grad.item()

    assert simulate(program, 2).results == [((4 + 8) / 2, (3 * 4 + 1 * 8) / 4)] * 2


# Parts of eight examples that are powers of two: then each rank's mean is exact, and so is its share.
@pytest.mark.parametrize("shares", [[1], [1, 1], [4, 2, 1, 1], [8, 0], [4, 0, 4], [1] * 8, [0, 1, 2, 1, 4]])
@pytest.mark.parametrize("way", WAYS)
def test_the_weights_equal_those_of_one_process_to_the_last_bit(way: str, shares: list) -> None:
    generator = torch.Generator().manual_seed(0)
    data = tuple(torch.randint(-3, 4, (16, size), generator=generator).double() for size in (4, 2))
    module = whole_numbers(nn.Sequential(nn.Linear(4, 3), nn.ReLU(), nn.Linear(3, 2)))
    joined, split = joined_and_split(module, data, way, shares, batch_size=8, epochs=1, lr=2**-4)
    assert state_hash(split) == state_hash(joined)
    assert state_hash(split) != state_hash(module)


@settings(max_examples=40)
@given(
    way=st.sampled_from(WAYS),
    shares=st.lists(st.integers(0, 5), min_size=1, max_size=5).filter(sum),
    length=st.integers(1, 30),
    batch_size=st.integers(1, 12),
    sizes=st.lists(st.integers(1, 7), min_size=2, max_size=4),
    bucket_bytes=st.sampled_from([1, 40, 200, 10**6]),
    dtype=st.sampled_from([torch.float32, torch.float64]),
    seed=st.integers(0, 1000),
)
def test_the_weights_equal_those_of_one_process_to_rounding(
    way, shares, length, batch_size, sizes, bucket_bytes, dtype, seed
) -> None:
    generator = torch.Generator().manual_seed(seed)
    data = tuple(torch.randn(length, size, generator=generator, dtype=dtype) for size in (sizes[0], sizes[-1]))
    torch.manual_seed(seed)
    layers = [nn.Sequential(nn.Linear(a, b), nn.Tanh()) for a, b in itertools.pairwise(sizes)]
    module = nn.Sequential(*layers).to(dtype)
    options = {"lr": 0.1, "momentum": 0.9, "weight_decay": 0.01}
    joined, split = joined_and_split(module, data, way, shares, batch_size, 2, bucket_bytes, **options)
    tolerance = 1e-4 if dtype == torch.float32 else 1e-11
    for ours, theirs in zip(split.parameters(), joined.parameters(), strict=True):
        torch.testing.assert_close(ours, theirs, rtol=tolerance, atol=tolerance)


class Odd(nn.Module):
    """Two dtypes, a weight with two names, one laid out by channels, an empty one, a frozen one, and a buffer."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.conv = nn.Conv2d(2, 3, 2).to(memory_format=torch.channels_last)
        self.first = nn.Linear(12, 12)
        self.tied = nn.Linear(12, 12)
        self.tied.weight = self.first.weight
        self.wide = nn.Linear(12, 1).double()
        self.frozen = nn.Parameter(torch.ones(12), requires_grad=False)
        self.empty, self.unused = nn.Parameter(torch.ones(0, 3)), nn.Parameter(torch.ones(2))
        self.register_buffer("offset", torch.ones(1))

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        hidden = torch.tanh(self.conv(inputs.view(-1, 2, 3, 3)).flatten(1))
        hidden = self.tied(torch.tanh(self.first(hidden))) * self.frozen + self.empty.sum() + self.offset
        return self.wide(hidden.double())


@pytest.mark.parametrize("bucket_bytes", [1, 600, 10**6])  # 600: the shared weight of 576 bytes overfills a bucket
@pytest.mark.parametrize("way", WAYS)
def test_parameters_of_many_kinds_are_averaged_as_by_one_process(way: str, bucket_bytes: int) -> None:
    generator = torch.Generator().manual_seed(1)
    data = torch.randn(7, 18, generator=generator), torch.randn(7, 1, generator=generator).double()
    options = {"lr": 0.1, "momentum": 0.9}
    joined, split = joined_and_split(Odd(), data, way, [3, 0, 2], 4, 2, bucket_bytes, **options)
    assert [parameter.dtype for parameter in split.parameters()] == [p.dtype for p in joined.parameters()]
    for ours, theirs in zip(split.parameters(), joined.parameters(), strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-5, atol=1e-5)
    assert split.frozen.tolist() == [1.0] * 12


class Forked(nn.Module):
    """Rank r uses branch r; the last branch is nobody's, and one parameter is frozen."""

    def __init__(self, branches: int) -> None:
        super().__init__()
        self.branches = nn.ModuleList(nn.Linear(2, 2) for _ in range(branches))
        self.head = nn.Linear(2, 1)
        self.frozen = nn.Parameter(torch.ones(3), requires_grad=False)

    def forward(self, inputs: torch.Tensor, branch: int) -> torch.Tensor:
        return self.head(self.branches[branch](inputs))


def gradients_of_forked(comm, way: str) -> dict:
    """The gradient of every parameter after one step in which each rank uses its own branch."""
    torch.manual_seed(0)
    module = model = Forked(comm.world_size + 1)
    if way not in ("per parameter", "buckets"):
        model = DataParallel(comm, module, 16, overlap=way == "overlap")
    model(torch.ones(1, 2), comm.rank).sum().backward()
    if way == "per parameter":
        average_gradients(comm, module)
    if way == "buckets":
        average_gradients_in_buckets(comm, module, bucket_bytes=16)
    return {name: parameter.grad for name, parameter in module.named_parameters()}


@pytest.mark.parametrize("way", WAYS[:-1])
def test_parameters_that_a_rank_did_not_use_count_as_zeros_there(way: str) -> None:
    first, *others = simulate(gradients_of_forked, 3, (way,)).results
    torch.manual_seed(0)
    joined = Forked(4)
    sum(joined(torch.ones(1, 2), branch).sum() / 3 for branch in range(3)).backward()
    for name, parameter in joined.named_parameters():
        assert all(torch.equal(other[name], first[name]) for other in others if first[name] is not None)
        if parameter.grad is not None:
            torch.testing.assert_close(first[name], parameter.grad)
    assert all(result["frozen"] is None for result in (first, *others))
    assert all(result["branches.3.weight"] is None for result in (first, *others))  # no rank has used it


@pytest.mark.parametrize("way", WAYS[:-1])
def test_a_rank_without_a_backward_pass_still_takes_part(way: str) -> None:
    def program(comm):
        module = whole_numbers(nn.Linear(2, 2))
        wrapped = way in ("after backward", "overlap")
        model = DataParallel(comm, module, overlap=way == "overlap") if wrapped else module
        if comm.rank == 0:
            model.share = 1.0
            model(torch.ones(4, 2).double()).sum(1).mean().backward()
        elif wrapped:
            model.share = 0.0
            model.finish()
        if not wrapped:
            {"per parameter": average_gradients, "buckets": average_gradients_in_buckets}[way](
                comm, module, examples=4 if comm.rank == 0 else 0
            )
        return module.weight.grad.tolist()

    assert simulate(program, 2).results == [[[1.0, 1.0], [1.0, 1.0]]] * 2


def test_gradients_that_are_no_numbers_do_not_count_where_there_are_no_examples() -> None:
    def program(comm):
        module = nn.Linear(1, 1, bias=False)
        module.weight.grad = torch.full((1, 1), [2.0, float("nan")][comm.rank])
        average_gradients(comm, module, examples=[5, 0][comm.rank])
        return module.weight.grad.item()

    assert simulate(program, 2).results == [2.0, 2.0]


@pytest.mark.filterwarnings("ignore:Using backward.. with create_graph=True")
@pytest.mark.parametrize("way", [average_gradients, average_gradients_in_buckets, DataParallel])
def test_a_gradient_with_a_history_is_averaged_as_a_number(way) -> None:
    def program(comm):
        module = nn.Linear(1, 1, bias=False)
        nn.init.ones_(module.weight)
        model = way(comm, module) if way is DataParallel else module
        loss = model(torch.full((1, 1), comm.rank + 1.0)).square().sum()
        [gradient] = torch.autograd.grad(loss, [module.weight], create_graph=True)
        (gradient**2).sum().backward(create_graph=True)  # a gradient of a gradient
        if way is not DataParallel:
            way(comm, module)
        return module.weight.grad.item(), module.weight.grad.requires_grad

    assert simulate(program, 2).results == [((8 + 8 * 16) / 2, False)] * 2  # (2x²w)² has the derivative 8x⁴w


@pytest.mark.parametrize("way", [average_gradients, average_gradients_in_buckets, DataParallel, *ZERO_STAGES.values()])
def test_a_sparse_gradient_is_refused(way) -> None:
    def program(comm):
        module = nn.Sequential(nn.Embedding(4, 2, sparse=True))
        own = [partial(torch.optim.SGD, lr=1.0)] if way in ZERO_STAGES.values() else []
        wrapped = way(comm, module, *own) if isinstance(way, type) else None
        module(torch.tensor([comm.rank])).sum().backward()
        wrapped.step() if own else way(comm, module)

    with pytest.raises(RankError, match=r"rank \d raised ValueError.*dense.*shape \[4, 2\] has torch.sparse_coo"):
        simulate(program, 2)


@pytest.mark.parametrize("name", ALL_REDUCES)
def test_any_all_reduce_will_do(name: str) -> None:
    def program(comm):
        found = []
        for way in (average_gradients, average_gradients_in_buckets):
            module = nn.Linear(3, 2)
            for parameter in module.parameters():
                parameter.grad = torch.full_like(parameter, comm.rank)
            way(comm, module, all_reduce=ALL_REDUCES[name])
            found += [parameter.grad.unique().item() for parameter in module.parameters()]
        return found

    assert simulate(program, 4).results == [[1.5] * 4] * 4


def test_a_bucket_saves_messages_and_no_bytes() -> None:
    def program(comm, way, **options):
        way(comm, nn.Sequential(*[nn.Linear(4, 4) for _ in range(3)]), **options)

    one_by_one = simulate(program, 4, (average_gradients,)).trace
    together = simulate(program, 4, (average_gradients_in_buckets,)).trace
    each = simulate(program, 4, (average_gradients_in_buckets,), {"bucket_bytes": 1}).trace
    assert len(one_by_one.messages) == len(each.messages) == 6 * len(together.messages)
    assert one_by_one.total_bytes == each.total_bytes == together.total_bytes


def test_shares_are_counted_among_the_ranks() -> None:
    report = simulate(lambda comm: batch_share(comm, [3, 0, 1][comm.rank]), 3)
    assert report.results == [0.75, 0.0, 0.25]
    silent = simulate(lambda comm: batch_share(comm, None), 4)
    assert silent.results == [0.25] * 4
    assert silent.trace.messages == []


@pytest.mark.parametrize(("examples", "words"), [(0, "no rank has an example"), (-1, "examples must be 0 or more")])
def test_impossible_counts_are_refused(examples: int, words: str) -> None:
    with pytest.raises(RankError, match=words):
        simulate(lambda comm: batch_share(comm, examples), 2)
