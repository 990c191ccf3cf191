"""The vocabulary cut over the ranks: an embedding, and a cross-entropy that never gathers the logits."""

from __future__ import annotations

import torch
from torch import nn
from torch.nn.functional import embedding, linear

from course_lib.collectives import ring_all_reduce
from course_lib.comm import Communicator
from course_lib.comm.gradient_parts import mark_gradients_of
from course_lib.tensor_parallel.linear import part_of
from course_lib.tensor_parallel.operators import scatter_sequence, sum_over_ranks

__all__ = ["VocabularyParallelEmbedding", "vocabulary_parallel_loss"]


class VocabularyParallelEmbedding(nn.Module):
    """Some rows of an embedding: this rank looks up its own tokens, has zeros for the others, and all are summed."""

    def __init__(self, comm: Communicator, whole: nn.Embedding, sequence_parallel: bool = False) -> None:
        super().__init__()
        self.comm, self.leave = comm, scatter_sequence if sequence_parallel else sum_over_ranks
        self.weight = part_of(comm, whole.weight, 0)
        self.first = comm.rank * len(self.weight)

    def own(self, tokens: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """The tokens counted from this rank's first one (0 for those of others), and which are this rank's."""
        _refuse_strangers(tokens, len(self.weight) * self.comm.world_size)
        places = tokens - self.first
        mine = (places >= 0) & (places < len(self.weight))
        return places.where(mine, 0), mine

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:  # [b, t] -> [b, t, d]
        """The rows of all tokens."""
        mark_gradients_of([self.weight], self.comm)
        places, mine = self.own(tokens)
        return self.leave(self.comm, embedding(places, self.weight) * mine.unsqueeze(-1))

    def scores(self, x: torch.Tensor) -> torch.Tensor:  # [b, t, d] -> [b, t, v / p]
        """The logits of this rank's tokens, where the output layer is the embedding's weight once more."""
        return linear(x, self.weight)


def _refuse_strangers(tokens: torch.Tensor, vocabulary: int) -> None:
    """Return if all tokens are of the vocabulary: one that no rank has would count as if its row or logit were 0.

    Raises:
        ValueError: if one is not, such as the −100 by which `cross_entropy` leaves a place out.
    """
    strangers = [] if tokens.is_meta else tokens[(tokens < 0) | (tokens >= vocabulary)]
    if len(strangers):
        raise ValueError(f"tokens and targets must be from 0 to {vocabulary - 1}, got {strangers[0].item()}")


def vocabulary_parallel_loss(
    comm: Communicator, logits: torch.Tensor, targets: torch.Tensor
) -> torch.Tensor:  # [..., v / p], [...] -> []
    """The mean cross-entropy of logits of which each rank has an equal part of the vocabulary.

    Three numbers cross for each token, in place of v: the largest logit, the sum of exponentials, the target's logit.
    Logits of 16 bits are widened to fp32 first; the loss stays so under autocast, as that of torch's `cross_entropy`.

    Raises:
        ValueError: if a target is not of the vocabulary.
        MismatchError: if the parts are not equal.

    Source: Shoeybi et al., "Megatron-LM", arXiv 1909.08053, section 3 (the loss fused with the parallel output).
    """
    words, given = logits.shape[-1], logits.dtype
    logits = logits.float() if given.itemsize < 4 else logits
    largest = logits.detach().amax(-1)
    ring_all_reduce(comm, largest, op="max", name=f"largest of {words} logits")  # a rank with others has another name
    _refuse_strangers(targets, words * comm.world_size)
    sums = sum_over_ranks(comm, (logits - largest.unsqueeze(-1)).exp().sum(-1))
    places = targets - comm.rank * words
    mine = (places >= 0) & (places < words)
    own = logits.gather(-1, places.where(mine, 0).unsqueeze(-1)).squeeze(-1) * mine
    loss = (sums.log() + largest - sum_over_ranks(comm, own)).mean()
    return loss if torch.is_autocast_enabled(loss.device.type) else loss.to(given)
