"""Every all-reduce leaves the same sum on every rank, whatever the number of ranks, length, shape and dtype."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from course_lib import Network, simulate
from course_lib.collectives import (
    ALL_REDUCES,
    Send,
    double_tree_all_reduce,
    double_tree_branches,
    halving_doubling_all_reduce,
    hierarchical_all_reduce,
    pipelined_ring_all_reduce,
    reduce,
    reduce_scatter,
    ring,
    ring_all_reduce,
    ring_steps,
)

NAMES = list(ALL_REDUCES)
LENGTHS = (0, 1, 3, 7, 24, 1000)
DTYPES = (
    torch.float16,
    torch.bfloat16,
    torch.float32,
    torch.float64,
    torch.uint8,
    torch.int16,
    torch.int32,
    torch.int64,
)


def numbers(rank: int, length: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    """Whole numbers in another order on every rank, so small that their sums over 9 ranks are exact in every dtype."""
    shuffled = torch.randperm(length, generator=torch.Generator().manual_seed(1000 * length + rank))
    return (shuffled % 27 + rank % 2).to(dtype)


def combined(world_size: int, length: int, op: str = "sum", dtype: torch.dtype = torch.float32) -> torch.Tensor:
    """What PyTorch makes of all ranks' numbers."""
    everything = torch.stack([numbers(rank, length, torch.float64) for rank in range(world_size)])
    if op == "max":
        return everything.amax(0).to(dtype)
    total = everything.sum(0).to(dtype)
    return total if op == "sum" else total / world_size


def reduced(comm, function, cases, **options):
    """The results of one all-reduce after the other, each of the tensor that `numbers` gives this rank."""
    tensors = [numbers(comm.rank, length, dtype) for length, _, dtype in cases]
    returned = [function(comm, t, op, **options) for t, (_, op, _) in zip(tensors, cases, strict=True)]
    assert returned == [None] * len(cases)
    return tensors


def assert_every_rank_has_it(function, world_size, cases, **options):
    report = simulate(reduced, world_size, (function, cases), options, ranks="greenlets")
    for results in report.results:
        for result, (length, op, dtype) in zip(results, cases, strict=True):
            wanted = combined(world_size, length, op, dtype)
            assert result.dtype == dtype
            assert torch.equal(result, wanted), (length, op, dtype)


def test_a_ring_of_three_passes_chunks_as_drawn() -> None:
    assert ring_steps(3) == [
        [Send(0, 1, 2), Send(1, 2, 0), Send(2, 0, 1)],  # chunk c starts beside its home, rank c
        [Send(0, 1, 1), Send(1, 2, 2), Send(2, 0, 0)],  # and is complete when it comes home
        [Send(0, 1, 0), Send(1, 2, 1), Send(2, 0, 2)],  # each home passes its sum on
        [Send(0, 1, 2), Send(1, 2, 0), Send(2, 0, 1)],
    ]


@pytest.mark.parametrize("world_size", [1, 2, 3, 5, 8])
def test_the_ring_sends_what_its_plan_says(world_size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    lengths = [100 + chunk for chunk in range(world_size)]  # chunks that their length tells apart
    monkeypatch.setattr(ring, "split", lambda flat, parts: list(flat.split(lengths)))
    report = simulate(lambda comm: ring_all_reduce(comm, torch.zeros(sum(lengths))), world_size)
    sent = {(m.step, m.src, m.dst, m.message_bytes // 4 - 100) for m in report.trace.messages}
    plan = enumerate(ring_steps(world_size), start=1)
    assert sent == {(number, *send) for number, step in plan for send in step}


@pytest.mark.parametrize("world_size", range(1, 10))
@pytest.mark.parametrize("name", NAMES)
def test_every_rank_receives_the_sum(name: str, world_size: int) -> None:
    cases = [(length, op, torch.float32) for length in LENGTHS for op in ("sum", "mean", "max")]
    assert_every_rank_has_it(ALL_REDUCES[name], world_size, cases)


@pytest.mark.parametrize("world_size", [2, 5])
@pytest.mark.parametrize("name", NAMES)
def test_every_dtype_is_summed_exactly(name: str, world_size: int) -> None:
    cases = [(length, op, dtype) for dtype in DTYPES for length in (1, 12) for op in ("sum", "max")]
    cases += [(12, "mean", dtype) for dtype in DTYPES if dtype.is_floating_point]
    assert_every_rank_has_it(ALL_REDUCES[name], world_size, cases)


@pytest.mark.parametrize("world_size", range(1, 10))
@pytest.mark.parametrize("ranks_per_node", [1, 2, 3, 4, 20])
def test_the_hierarchy_takes_nodes_of_any_size(ranks_per_node: int, world_size: int) -> None:
    cases = [(length, op, torch.float32) for length in (1, 24) for op in ("sum", "mean", "max")]
    assert_every_rank_has_it(hierarchical_all_reduce, world_size, cases, ranks_per_node=ranks_per_node)


@pytest.mark.parametrize("function", [pipelined_ring_all_reduce, double_tree_all_reduce])
@pytest.mark.parametrize("segment_bytes", [1, 4, 100, 1 << 20])
@pytest.mark.parametrize("world_size", [1, 2, 3, 4, 7])
def test_segments_of_any_size_give_the_sum(function, segment_bytes: int, world_size: int) -> None:
    cases = [(length, op, torch.float32) for length in (1, 7, 100) for op in ("sum", "mean", "max")]
    assert_every_rank_has_it(function, world_size, cases, segment_bytes=segment_bytes)


@pytest.mark.parametrize("world_size", [1, 2, 3, 4, 5, 8, 13])
@pytest.mark.parametrize("name", NAMES)
def test_no_all_reduce_hangs_by_nccls_rules_whatever_is_cut_into_segments(name: str, world_size: int) -> None:
    def program(comm, how):
        tensor = numbers(comm.rank, 100)
        ALL_REDUCES[name](comm, tensor, **how)
        return tensor.tolist()

    segmented = name in ("pipelined ring", "double tree")
    for how in [{"segment_bytes": count} for count in (4, 40, 1 << 20)] if segmented else [{}]:
        by_gloo, by_nccl = (simulate(program, world_size, (how,), rules=rules) for rules in ("gloo", "nccl"))
        assert by_nccl.results == by_gloo.results


@given(
    st.sampled_from(NAMES),
    st.integers(1, 20),
    st.lists(st.integers(0, 5), max_size=4),
    st.sampled_from(["sum", "mean", "max"]),
)
@settings(max_examples=60)
def test_any_shape_is_reduced_in_place(name: str, world_size: int, shape: list[int], op: str) -> None:
    def program(comm):
        inputs = torch.arange(torch.Size(shape).numel(), dtype=torch.float64).reshape(shape) * (comm.rank + 1)
        tensor = inputs.clone()
        ALL_REDUCES[name](comm, tensor, op)
        return inputs, tensor

    results = simulate(program, world_size, ranks="greenlets").results
    everything = torch.stack([inputs for inputs, _ in results])
    wanted = {"sum": everything.sum(0), "mean": everything.sum(0) / world_size, "max": everything.amax(0)}[op]
    for _, tensor in results:
        assert tensor.shape == torch.Size(shape)
        assert torch.equal(tensor, wanted)


@given(
    st.sampled_from([*NAMES, "reduce", "reduce_scatter"]),
    st.sampled_from([dtype for dtype in DTYPES if dtype.is_floating_point]),
    st.lists(st.floats(-0.9, 0.9), min_size=1, max_size=9),
)
@settings(max_examples=60)
def test_a_mean_is_finite_where_the_sum_is_not(name: str, dtype: torch.dtype, parts: list[float]) -> None:
    def program(comm):
        tensor = torch.tensor([parts[comm.rank] * torch.finfo(dtype).max], dtype=torch.float64).to(dtype)
        if name == "reduce":
            reduce(comm, tensor, 0, "mean")
        elif name == "reduce_scatter":
            reduce_scatter(comm, tensor, [tensor.clone() for _ in parts], "mean")
        else:
            ALL_REDUCES[name](comm, tensor, "mean")
        return tensor.double() / torch.finfo(dtype).max

    wanted = sum(parts) / len(parts)
    for result in simulate(program, len(parts), ranks="greenlets").results[: 1 if name == "reduce" else None]:
        assert abs(result.item() - wanted) <= 2 * len(parts) * torch.finfo(dtype).eps


@pytest.mark.parametrize("name", NAMES)
def test_all_ranks_hold_the_same_bits_even_where_sums_are_rounded(name: str) -> None:
    def program(comm):
        tensor = torch.rand(1001, generator=torch.Generator().manual_seed(comm.rank))
        ALL_REDUCES[name](comm, tensor)
        return tensor

    first, *others = simulate(program, world_size=7, ranks="greenlets").results
    assert all(torch.equal(first, other) for other in others)


@pytest.mark.parametrize("name", NAMES)
def test_only_the_tensor_itself_changes(name: str) -> None:
    def program(comm):
        room = torch.arange(40.0)
        ALL_REDUCES[name](comm, room[10:30])
        return room

    for room in simulate(program, world_size=3).results:
        assert torch.equal(room[:10], torch.arange(10.0))
        assert torch.equal(room[10:30], 3 * torch.arange(10.0, 30.0))
        assert torch.equal(room[30:], torch.arange(30.0, 40.0))


@pytest.mark.parametrize("name", NAMES)
def test_a_parameter_that_requires_grad_is_reduced_outside_autograd(name: str) -> None:
    def program(comm):
        weight = torch.nn.Parameter(torch.full((5,), float(comm.rank)))
        ALL_REDUCES[name](comm, weight)
        return weight.is_leaf, weight.detach()

    for is_leaf, weight in simulate(program, world_size=4).results:
        assert is_leaf
        assert weight.tolist() == [6.0] * 5


@pytest.mark.parametrize("name", NAMES)
def test_a_meta_tensor_sends_the_same_messages_as_a_real_one(name: str) -> None:
    def program(comm, device):
        ALL_REDUCES[name](comm, torch.empty(10, device=device))

    network = Network(latency_s=1e-6, bytes_per_s=1e9, reduce_s_per_byte=1e-9)
    real, meta = (simulate(program, 6, (device,), network=network) for device in ("cpu", "meta"))
    assert real.trace.messages == meta.trace.messages


@pytest.mark.parametrize("name", NAMES)
def test_additions_appear_on_the_timeline_where_they_cost_time(name: str) -> None:
    network = Network(reduce_s_per_byte=1e-9)
    report = simulate(lambda comm: ALL_REDUCES[name](comm, torch.ones(64)), 4, network=network)
    assert {span.label for span in report.trace.spans} == {"add"}


@pytest.mark.parametrize("world_size", range(2, 34))
def test_in_the_double_tree_who_works_in_one_tree_is_a_leaf_in_the_other(world_size: int) -> None:
    for tree in (trees := double_tree_branches(world_size)):
        assert [branch.parent for branch in tree].count(None) == 1
        for rank, branch in enumerate(tree):
            assert len(branch.children) <= 2
            assert all(tree[child].parent == rank for child in branch.children)
    assert not any(first.children and second.children for first, second in zip(*trees, strict=True))


def test_halving_doubling_keeps_its_largest_pieces_in_the_node() -> None:
    report = simulate(lambda comm: halving_doubling_all_reduce(comm, torch.ones(8)), world_size=8)
    by_distance = {abs(m.src - m.dst): m.message_bytes for m in report.trace.messages}
    assert by_distance == {1: 16, 2: 8, 4: 4}


@pytest.mark.parametrize("name", NAMES)
def test_what_no_all_reduce_can_do_is_refused(name: str) -> None:
    refused = [
        (torch.ones(4, 4).t(), "sum", "ValueError: .*contiguous.*strides"),
        (torch.ones(4), "product", "ValueError: op must be .*'product'"),
        (torch.ones(4, dtype=torch.int64), "mean", 'TypeError: op "mean" cannot be had in torch.int64'),
        (torch.ones(4, dtype=torch.complex64), "max", 'TypeError: op "max" cannot be had in torch.complex64'),
        (torch.ones(4, dtype=torch.bool), "sum", 'TypeError: op "sum" cannot be had in torch.bool'),
        ([1.0, 2.0], "sum", "TypeError: .*torch.Tensor, got list"),
    ]
    for tensor, op, message in refused:
        with pytest.raises(RuntimeError, match=message):
            simulate(ALL_REDUCES[name], world_size=2, args=(tensor, op))


def test_a_ring_in_segments_that_does_not_look_ahead_is_refused() -> None:
    with pytest.raises(
        RuntimeError, match="look_ahead must be at least 2, one on the wire and one in the adder, got 1"
    ):
        simulate(pipelined_ring_all_reduce, world_size=2, kwargs={"tensor": torch.ones(4), "look_ahead": 1})


@pytest.mark.parametrize("look_ahead", [2, 3, 99])
@pytest.mark.parametrize("world_size", [1, 2, 3, 7])
def test_looking_further_ahead_gives_the_same_sum(look_ahead: int, world_size: int) -> None:
    cases = [(length, op, torch.float32) for length in (1, 7, 100) for op in ("sum", "mean", "max")]
    options = {"segment_bytes": 8, "look_ahead": look_ahead}
    assert_every_rank_has_it(pipelined_ring_all_reduce, world_size, cases, **options)


@pytest.mark.parametrize("function", [pipelined_ring_all_reduce, double_tree_all_reduce])
def test_an_empty_segment_is_refused(function) -> None:
    with pytest.raises(RuntimeError, match="segment_bytes must be at least 1, got 0"):
        simulate(function, world_size=2, args=(torch.ones(4), "sum", 0))


def test_a_node_without_ranks_is_refused() -> None:
    with pytest.raises(RuntimeError, match="ranks_per_node must be at least 1, got 0"):
        simulate(hierarchical_all_reduce, world_size=2, args=(torch.ones(4), "sum", 0))
