"""Attention that recomputes itself: PyTorch's values and gradients, and what is kept to the byte."""

import pytest
import torch
from torch.nn.functional import scaled_dot_product_attention

from course_lib.checkpointing import LiveMemory, RecomputedAttention
from course_lib.pipeline import HeldActivations


def drawn(*shape: int, seed: int = 0) -> list[torch.Tensor]:
    draw = torch.Generator().manual_seed(seed)
    return [torch.randn(shape, generator=draw, dtype=torch.float64, requires_grad=True) for _ in range(3)]


def test_two_tokens_by_hand():
    q, k, v = (torch.tensor([[1.0], [2.0]], requires_grad=True) for _ in range(3))
    y = RecomputedAttention.apply(q, k, v, 1)
    share = torch.tensor(2.0).sigmoid()  # of token 1 in row 1: scores 2 and 4
    torch.testing.assert_close(y, torch.stack([torch.ones(1), 1 + share.reshape(1)]))
    y.sum().backward()
    torch.testing.assert_close(v.grad.flatten(), torch.stack([2 - share, share]))
    torch.testing.assert_close(q.grad.flatten(), torch.stack([torch.tensor(0.0), share * (1 - share)]))


@pytest.mark.parametrize("shape", [(1, 1), (5, 4), (2, 7, 3), (2, 3, 16, 8)])
@pytest.mark.parametrize("rows", [1, 3, 7, 64])
def test_values_and_gradients_are_pytorchs(shape, rows):
    parts, others = drawn(*shape), drawn(*shape)
    y, expected = RecomputedAttention.apply(*parts, rows), scaled_dot_product_attention(*others, is_causal=True)
    gradient = torch.randn(shape, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    y.backward(gradient)
    expected.backward(gradient)
    torch.testing.assert_close(y, expected)
    for one, other in zip(parts, others, strict=True):
        torch.testing.assert_close(one.grad, other.grad)


def test_gradients_are_those_of_differences():
    assert torch.autograd.gradcheck(lambda q, k, v: RecomputedAttention.apply(q, k, v, 2), drawn(2, 5, 3))


@pytest.mark.parametrize(("heads", "tokens", "size"), [(1, 1, 1), (2, 50, 8), (4, 128, 16)])
def test_what_is_kept_is_q_k_v_the_output_and_a_number_a_row(heads, tokens, size):
    held = HeldActivations()
    with held.watch():
        y = RecomputedAttention.apply(*drawn(heads, tokens, size), 16)
    assert held.now_bytes == 8 * heads * tokens * (4 * size + 1)
    del y


def test_the_table_of_scores_never_lies_in_memory():
    peaks = []
    for rows in (8, 256):
        with LiveMemory() as memory:
            RecomputedAttention.apply(*drawn(1, 256, 4), rows).sum().backward()
        peaks.append(memory.largest_bytes)
    assert peaks[0] < 8 * 256 * 256 / 8 <= peaks[1]


def test_an_input_without_a_gradient_gets_none():
    q, k, v = drawn(2, 4, 3)
    RecomputedAttention.apply(q, k.detach(), v.detach(), 2).sum().backward()
    assert q.grad is not None


def test_values_may_be_wider_than_keys():
    parts = [*drawn(2, 5, 3)[:2], drawn(2, 5, 7)[2]]
    y, expected = RecomputedAttention.apply(*parts, 2), scaled_dot_product_attention(*parts, is_causal=True)
    torch.testing.assert_close(y, expected)
    ours, theirs = (torch.autograd.grad(each.square().sum(), parts) for each in (y, expected))
    torch.testing.assert_close(ours, theirs)


@pytest.mark.parametrize("rows", [0, -1])
def test_no_rows_at_a_time_are_refused(rows):
    with pytest.raises(ValueError, match=f"rows must be at least 1, got {rows}"):
        RecomputedAttention.apply(*drawn(2, 3), rows)
