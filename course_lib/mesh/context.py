"""A cut sequence: each context rank has some of its places, and in attention keys and values go round a ring.

places of 8 tokens   context 0: 0 1 6 7   context 1: 2 3 4 5      the same work under a causal mask (chapter 05)
"""

from __future__ import annotations

import torch

from course_lib.comm import Communicator
from course_lib.tasks.gpt import Attention
from course_lib.tensor_parallel import ParallelAttention, places_in_zigzag, ring_attention

__all__ = ["ContextAttention", "own_places"]


def own_places(context: Communicator, length: int) -> torch.Tensor:
    """The places of a sequence that this context rank has.

    Raises:
        ValueError: unless twice the context ranks divide the sequence, or there is one only.
    """
    if context.world_size == 1:
        return torch.arange(length)
    if length % (2 * context.world_size):
        raise ValueError(f"twice the {context.world_size} context ranks must divide the sequence, got {length} places")
    return places_in_zigzag(length, context.world_size)[context.rank]


class ContextAttention(ParallelAttention):
    """This tensor rank's heads, for this context rank's places."""

    def __init__(
        self, tensor: Communicator, context: Communicator, whole: Attention, sequence_parallel: bool = False
    ) -> None:
        super().__init__(tensor, whole, sequence_parallel)
        self.context = context

    def forward(self, x: torch.Tensor) -> torch.Tensor:  # [b, t / c, d] -> [b, t / c, d]
        """What all heads of all tensor ranks give together, from the keys and values of all context ranks."""
        q, k, v = self.queries_keys_values(x).unflatten(2, (3, self.heads, -1)).permute(2, 0, 3, 1, 4)
        ranks = self.context.world_size
        heads = ring_attention(self.context, q, k, v, places_in_zigzag(ranks * q.shape[2], ranks))
        return self.output(heads.transpose(1, 2).flatten(2))
