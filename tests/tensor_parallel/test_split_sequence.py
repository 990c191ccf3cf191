"""Attention over a cut sequence equals attention, forward and backward; the zig-zag balances the work."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.nn.functional import scaled_dot_product_attention

from course_lib import RankError, run, simulate
from course_lib.tensor_parallel import (
    OnlineSoftmax,
    exchanged_attention,
    pairs_per_step,
    places_in_order,
    places_in_zigzag,
    ring_attention,
)

LENGTH = 24
Q, K, V, GRAD = torch.randn(4, 2, 3, LENGTH, 5, generator=torch.Generator().manual_seed(0)).double()
CUTS = {"in order": places_in_order, "zig-zag": places_in_zigzag}


def program(comm, places):
    mine = [whole[:, :, places[comm.rank]].clone().requires_grad_() for whole in (Q, K, V)]
    attention = ring_attention(comm, *mine, places)
    attention.backward(GRAD[:, :, places[comm.rank]])
    return attention.detach(), *(part.grad for part in mine)


def check(results, places):
    leaves = [whole.clone().requires_grad_() for whole in (Q, K, V)]
    y = scaled_dot_product_attention(*leaves, is_causal=True)
    y.backward(GRAD)
    for rank, result in enumerate(results):
        for came, whole in zip(result, (y.detach(), *(leaf.grad for leaf in leaves)), strict=True):
            torch.testing.assert_close(came, whole[:, :, places[rank]], rtol=0, atol=1e-12)


@pytest.mark.parametrize("cut", CUTS)
@pytest.mark.parametrize("world_size", [1, 2, 3, 4])
def test_it_equals_attention_on_one_process(cut, world_size):
    places = CUTS[cut](LENGTH, world_size)
    report = simulate(program, world_size, args=(places,))
    check(report.results, places)
    part_bytes = 2 * 3 * (LENGTH // world_size) * 5 * 8
    times = 6 * world_size - 4 if world_size > 1 else 0  # keys and values twice, their gradients a step further
    assert report.trace.bytes_sent == [times * part_bytes] * world_size


def test_real_processes_do_the_same_with_parts_that_are_uneven():
    places = [part[:LENGTH] for part in places_in_zigzag(LENGTH, 2)]
    places = [torch.cat([places[0], places[1][:3]]), places[1][3:]]
    check(run(program, 2, args=(places,)).results, places)


@given(st.integers(0, 40), st.integers(1, 9))
@settings(deadline=None)
def test_each_place_is_on_one_rank_whatever_the_length(length, world_size):
    for cut in (places_in_order, places_in_zigzag):
        parts = cut(length, world_size)
        assert len(parts) == world_size
        assert sorted(torch.cat(parts).tolist()) == list(range(length))
        assert max(map(len, parts)) - min(map(len, parts)) <= 2


@pytest.mark.parametrize("cut", CUTS)
@pytest.mark.parametrize("world_size", [5, 26])
def test_it_equals_attention_where_the_ranks_do_not_divide_the_sequence(cut, world_size):
    places = CUTS[cut](LENGTH, world_size)  # with 26 ranks some have no place
    check(simulate(program, world_size, args=(places,)).results, places)


def test_places_for_others_are_refused():
    with pytest.raises(RankError, match=r"places for each of 3 ranks, .* got places for 2 ranks"):
        simulate(lambda comm: ring_attention(comm, *[Q[:, :, :8]] * 3, places_in_order(LENGTH, 2)), 3)
    with pytest.raises(RankError, match="'places': 8, 'q': 24"):
        simulate(lambda comm: ring_attention(comm, Q, K, V, places_in_order(LENGTH, 3)), 3)
    with pytest.raises(ValueError, match="got 9 places in 0 pieces"):
        places_in_zigzag(9, 0)


def test_keys_in_pieces_give_the_same_softmax_even_where_scores_are_huge():
    q, scores = torch.zeros(1, 1), torch.tensor([[1000.0, -1000.0, 999.0, -torch.inf]])
    v = torch.tensor([[1.0], [2.0], [4.0], [8.0]])
    seen = OnlineSoftmax.of_nothing(q)
    for piece in ([3], [1], [0, 2]):  # at first a key that is not seen, then the largest comes last
        seen = seen.with_keys(scores[:, piece], v[piece])
    torch.testing.assert_close(seen.result, scores.softmax(1) @ v)


@pytest.mark.parametrize("world_size", [2, 3, 4])
def test_the_zigzag_gives_every_rank_the_same_work_in_every_step(world_size):
    even, uneven = (pairs_per_step(cut(LENGTH, world_size)) for cut in (places_in_zigzag, places_in_order))
    assert all(len(set(step)) == 1 for step in even)
    assert any(0 in step for step in uneven)
    assert sum(map(sum, even)) == sum(map(sum, uneven)) == LENGTH * (LENGTH + 1) // 2


QUERIES = torch.randn(2, 12, LENGTH, 5, generator=torch.Generator().manual_seed(1)).double()


def exchanging(comm, kept_heads):
    parts = (QUERIES, *(QUERIES[:, :kept_heads] * factor for factor in (2, 3)))
    mine = [part.chunk(comm.world_size, 2)[comm.rank].clone().requires_grad_() for part in parts]
    attention = exchanged_attention(comm, *mine)
    attention.square().sum().backward()
    return attention.detach(), *(part.grad for part in mine)


@pytest.mark.parametrize("world_size", [1, 2, 3, 6])
@pytest.mark.parametrize("kept_heads", [12, 6])
def test_exchanging_places_for_heads_equals_attention_on_one_process(world_size, kept_heads):
    parts = (QUERIES, *(QUERIES[:, :kept_heads] * factor for factor in (2, 3)))
    leaves = [part.clone().requires_grad_() for part in parts]
    y = scaled_dot_product_attention(*leaves, is_causal=True, enable_gqa=True)
    y.square().sum().backward()
    report = simulate(exchanging, world_size, args=(kept_heads,))
    for found, whole in zip(zip(*report.results, strict=True), (y, *(leaf.grad for leaf in leaves)), strict=True):
        torch.testing.assert_close(torch.cat(found, 2), whole.detach(), rtol=0, atol=1e-11)
    part_bytes = QUERIES.nbytes // world_size * (world_size - 1) // world_size  # of what it has, all but 1 / p
    once = 2 * part_bytes + 2 * part_bytes * kept_heads // 12
    assert report.trace.bytes_sent == [2 * once] * world_size  # forward and backward


def test_ranks_that_do_not_divide_the_heads_of_the_keys_are_refused():
    with pytest.raises(RankError, match=r"4 ranks must divide the heads, got \[12, 6, 6\]"):
        simulate(exchanging, 4, args=(6,))
