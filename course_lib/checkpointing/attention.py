"""Attention that recomputes itself: of its scores it keeps a sum a row, and computes them anew when the gradient comes.

For a block of rows at a time, so that the table of all scores never lies in memory, forward or back. FlashAttention
cuts the columns, too, and does it in fast memory; what is kept is the same.

Source: T. Dao, D. Fu, S. Ermon, A. Rudra and C. Ré, "FlashAttention", NeurIPS 2022, arXiv 2205.14135, section 3.1 and
appendix B.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import sqrt
from typing import Any

import torch


class RecomputedAttention(torch.autograd.Function):
    """`RecomputedAttention.apply(q, k, v, rows)`: causal attention, so many rows at a time.

    Shapes: q, k, v and what it gives are [..., t, d]. Kept are these four, and one number a row.

    Raises:
        ValueError: if `rows` is less than 1.

    >>> q, k, v = torch.randn(3, 2, 5, 4, dtype=torch.float64, requires_grad=True)
    >>> expected = torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
    >>> torch.allclose(RecomputedAttention.apply(q, k, v, 2), expected)
    True
    """

    @staticmethod
    def forward(ctx: Any, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, rows: int) -> torch.Tensor:
        """The mean of the values, by the softmax of the scores."""
        y, log_sums = q.new_empty(*q.shape[:-1], v.shape[-1]), q.new_empty(q.shape[:-1])
        for part, before in _parts_of(q.shape[-2], rows):
            scores = _scores_of(q, k, part)
            log_sums[..., part] = scores.logsumexp(-1)
            y[..., part, :] = scores.softmax(-1) @ v[..., before, :]
        ctx.save_for_backward(q, k, v, y, log_sums)
        ctx.rows = rows
        return y

    @staticmethod
    def backward(ctx: Any, y_grad: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
        """The gradients of q, k and v: a row's weights come back as exp(score - log of the row's sum)."""
        q, k, v, y, log_sums = ctx.saved_tensors
        q_grad = torch.empty_like(q)
        k_grad, v_grad = torch.zeros_like(k), torch.zeros_like(v)
        for part, before in _parts_of(q.shape[-2], ctx.rows):
            weights = (_scores_of(q, k, part) - log_sums[..., part, None]).exp()
            g = y_grad[..., part, :]
            v_grad[..., before, :] += weights.mT @ g
            shared = (g * y[..., part, :]).sum(-1, keepdim=True)
            scores_grad = weights * (g @ v[..., before, :].mT - shared) / sqrt(q.shape[-1])
            q_grad[..., part, :] = scores_grad @ k[..., before, :]
            k_grad[..., before, :] += scores_grad.mT @ q[..., part, :]
        return q_grad, k_grad, v_grad, None


def _parts_of(length: int, rows: int) -> Iterator[tuple[slice, slice]]:
    """Some rows, and the columns that they may look at: themselves and all before."""
    if rows < 1:
        raise ValueError(f"rows must be at least 1, got {rows}")
    for start in range(0, length, rows):
        end = min(start + rows, length)
        yield slice(start, end), slice(0, end)


def _scores_of(q: torch.Tensor, k: torch.Tensor, part: slice) -> torch.Tensor:
    """The scores of some rows against all columns up to their last, -inf where a column is later than the row."""
    scores = q[..., part, :] @ k[..., : part.stop, :].mT / sqrt(q.shape[-1])
    later = torch.ones(scores.shape[-2:], dtype=torch.bool, device=q.device).triu(1 + part.start)
    return scores.masked_fill(later, -torch.inf)
