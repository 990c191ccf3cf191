"""The whole GPT, tensor parallel: every rank holds its part of every block.

    x ─ norm ─ f ─ queries, keys, values ─ heads ─ output ─ g ─ + ─ norm ─ f ─ up ─ GELU ─ down ─ g ─ +
               └───── parts of this rank ─────────────┘               └── parts of this rank ──┘

Two all-reduces forward (the g's) and two backward (the f's) in each block. With sequence parallelism each of them is
a gather and a scatter, which move as many bytes, and what lies between the blocks is a part of the sequence.
"""

from __future__ import annotations

import copy

import torch
from torch import nn

from course_lib.collectives import ring_all_reduce
from course_lib.comm import Communicator
from course_lib.tasks.gpt import GPT, Block
from course_lib.tensor_parallel.attention import ParallelAttention
from course_lib.tensor_parallel.linear import ColumnParallelLinear, RowParallelLinear
from course_lib.tensor_parallel.operators import copy_to_ranks, gather_sequence, own_sequence
from course_lib.tensor_parallel.vocabulary import VocabularyParallelEmbedding, vocabulary_parallel_loss

__all__ = ["ParallelBlock", "ParallelGPT", "is_shared"]


class ParallelBlock(nn.Module):
    """A block of which this rank holds some heads and some hidden numbers; norms are whole on every rank."""

    def __init__(self, comm: Communicator, whole: Block, sequence_parallel: bool = False) -> None:
        super().__init__()
        up, gelu, down = whole.mlp
        self.attention_norm, self.mlp_norm = copy.deepcopy(whole.attention_norm), copy.deepcopy(whole.mlp_norm)
        self.attention = ParallelAttention(comm, whole.attention, sequence_parallel)
        self.mlp = nn.Sequential(
            ColumnParallelLinear(comm, up, sequence_parallel), gelu, RowParallelLinear(comm, down, sequence_parallel)
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:  # [b, t, d], or [b, t / p, d] with sequence parallelism
        """Add to x what attention and the network of one hidden layer make of it."""
        x = x + self.attention(self.attention_norm(x))
        return x + self.mlp(self.mlp_norm(x))


class ParallelGPT(nn.Module):
    """This rank's part of a whole GPT with tied embeddings, a copy. `loss` is the same on every rank.

    Call `sum_shared_gradients` after the backward pass where the sequence is parallel.

    Raises:
        ValueError: unless the ranks divide heads, hidden numbers and vocabulary, or if the embeddings are not tied.
    """

    def __init__(self, comm: Communicator, whole: GPT, sequence_parallel: bool = False) -> None:
        super().__init__()
        if not whole.config.tied:
            raise ValueError("the output must be tied to the embedding: GPTConfig(tied=True)")
        self.comm, self.sequence_parallel = comm, sequence_parallel
        self.embedding = VocabularyParallelEmbedding(comm, whole.embedding, sequence_parallel)
        self.position = copy.deepcopy(whole.position)
        self.blocks = nn.ModuleList(ParallelBlock(comm, block, sequence_parallel) for block in whole.blocks)
        self.norm = copy.deepcopy(whole.norm)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:  # [b, t] -> [b, t, v / p]
        """The logits of this rank's tokens."""
        places = torch.arange(tokens.shape[1], device=tokens.device).unsqueeze(0)
        if self.sequence_parallel:
            places = own_sequence(self.comm, places)
        x = self.embedding(tokens) + self.position(places)
        for block in self.blocks:
            x = block(x)
        enter = gather_sequence if self.sequence_parallel else copy_to_ranks
        return self.embedding.scores(enter(self.comm, self.norm(x)))

    def loss(self, tokens: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        """The mean cross-entropy of the next tokens."""
        return vocabulary_parallel_loss(self.comm, self(tokens), targets)

    def sum_shared_gradients(self) -> None:
        """With sequence parallelism: sum the gradients of what is whole on every rank but saw only a part."""
        if not self.sequence_parallel:
            return  # every rank saw everything, and has the same gradient
        for name, parameter in self.named_parameters():
            if is_shared(name):
                ring_all_reduce(self.comm, parameter.grad)


def is_shared(name: str) -> bool:
    """Whether a parameter of this name is whole on every rank: norms, positions, and biases added after a sum."""
    norm = any(part.endswith("norm") for part in name.split("."))
    return norm or name.startswith("position.") or name.endswith(("output.bias", "mlp.2.bias"))
