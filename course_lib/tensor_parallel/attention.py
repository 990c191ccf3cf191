"""Self-attention by heads: each rank has some of them, from their queries to their part of the output layer."""

from __future__ import annotations

import torch
from torch import nn
from torch.nn.functional import scaled_dot_product_attention

from course_lib.comm import Communicator
from course_lib.tasks.gpt import Attention
from course_lib.tensor_parallel.linear import ColumnParallelLinear, RowParallelLinear

__all__ = ["ParallelAttention", "rows_of_heads"]


def rows_of_heads(weight: torch.Tensor, ranks: int) -> torch.Tensor:
    """The rows of a queries-keys-values layer in an order in which a rank's heads lie together.

    As it is: the queries of all heads, then the keys, then the values. Ordered: rank by rank its queries, keys, values.

    Raises:
        ValueError: unless the ranks divide queries, keys and values.

    >>> rows_of_heads(torch.arange(12), ranks=2).tolist()
    [0, 1, 4, 5, 8, 9, 2, 3, 6, 7, 10, 11]
    """
    if ranks < 1 or len(weight) % (3 * ranks):
        raise ValueError(f"{ranks} ranks must divide queries, keys and values, got {len(weight)} rows")
    return weight.unflatten(0, (3, ranks, -1)).transpose(0, 1).flatten(0, 2)


class ParallelAttention(nn.Module):
    """This rank's heads of a whole attention: column-parallel into the heads, row-parallel out of them.

    Raises:
        ValueError: unless the ranks divide the heads.
    """

    def __init__(self, comm: Communicator, whole: Attention, sequence_parallel: bool = False) -> None:
        super().__init__()
        if whole.heads % comm.world_size:
            raise ValueError(f"{comm.world_size} ranks must divide the heads, got {whole.heads}")
        self.heads = whole.heads // comm.world_size
        inward = whole.queries_keys_values
        ordered = nn.Linear(inward.in_features, inward.out_features, dtype=inward.weight.dtype)
        ordered.weight = nn.Parameter(
            rows_of_heads(inward.weight.detach(), comm.world_size), inward.weight.requires_grad
        )
        ordered.bias = nn.Parameter(rows_of_heads(inward.bias.detach(), comm.world_size), inward.bias.requires_grad)
        self.queries_keys_values = ColumnParallelLinear(comm, ordered, sequence_parallel)
        self.output = RowParallelLinear(comm, whole.output, sequence_parallel)

    def forward(self, x: torch.Tensor) -> torch.Tensor:  # [b, t, d] -> [b, t, d]
        """What all heads of all ranks give together."""
        parts = self.queries_keys_values(x).unflatten(2, (3, self.heads, -1))  # [b, t, 3, h / p, d / h]
        q, k, v = parts.permute(2, 0, 3, 1, 4)
        heads = scaled_dot_product_attention(q, k, v, is_causal=True)  # each head by itself: nothing crosses
        return self.output(heads.transpose(1, 2).flatten(2))
