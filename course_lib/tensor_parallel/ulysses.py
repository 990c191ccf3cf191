"""Attention over a cut sequence by exchange: every rank gets all places of some heads, and gives them back.

Source: Jacobs et al., "DeepSpeed Ulysses: system optimizations for enabling training of extreme long sequence
transformer models", arXiv 2309.14509.
"""

from __future__ import annotations

import torch
from torch.nn.functional import scaled_dot_product_attention

from course_lib.comm import Communicator
from course_lib.tensor_parallel.operators import exchange_parts

__all__ = ["exchanged_attention"]


def exchanged_attention(
    comm: Communicator, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor
) -> torch.Tensor:  # [b, h, t / p, e] each -> [b, h, t / p, e]
    """Causal attention of this rank's queries to all ranks' keys, cut as they come: rank r has the r-th part.

    Args:
        comm: the ranks among which the sequence is cut.
        q: this rank's places of all heads.
        k: the same of the keys; they may have fewer heads, each for as many heads of the queries.
        v: the same of the values.

    Returns:
        This rank's places, as `q` has them. Its backward pass is the same exchange once more.

    Raises:
        ValueError: unless the ranks divide the heads of each of them.

    Cost: four all-to-alls, in each of which a rank sends all of its part but 1/p.
    """
    heads = [part.shape[1] for part in (q, k, v)]
    if any(count % comm.world_size for count in heads):
        raise ValueError(f"{comm.world_size} ranks must divide the heads, got {heads} of queries, keys and values")
    q, k, v = (_heads_here(comm, part) for part in (q, k, v))
    return _places_here(comm, scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True))


def _heads_here(comm: Communicator, x: torch.Tensor) -> torch.Tensor:  # [b, h, t / p, e] -> [b, h / p, t, e]
    return torch.cat(list(exchange_parts(comm, torch.stack(x.chunk(comm.world_size, 1)))), 2)


def _places_here(comm: Communicator, x: torch.Tensor) -> torch.Tensor:  # [b, h / p, t, e] -> [b, h, t / p, e]
    return torch.cat(list(exchange_parts(comm, torch.stack(x.chunk(comm.world_size, 2)))), 1)
