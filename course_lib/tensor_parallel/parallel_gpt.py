"""The tensor-parallel GPT and its layers: column- and row-parallel, attention by heads, the vocabulary and its loss.

    x ─ norm ─ f ─ queries, keys, values ─ heads ─ output ─ g ─ + ─ norm ─ f ─ up ─ GELU ─ down ─ g ─ +
               └───── parts of this rank ─────────────┘               └── parts of this rank ──┘

Two all-reduces forward (the g's) and two backward (the f's) in each block. With sequence parallelism each of them is
a gather and a scatter, which move as many bytes, and what lies between the blocks is a part of the sequence.

Column-parallel: rows of torch's weight (columns of its transpose), so a part of the outputs. Row-parallel: a part of
the inputs. One behind the other they need no message in between.
"""

from __future__ import annotations

import copy

import torch
from torch import nn
from torch.nn.functional import embedding, linear, scaled_dot_product_attention

from course_lib.collectives import ring_all_reduce
from course_lib.comm import Communicator
from course_lib.comm.group import mark_gradients_of
from course_lib.tasks.gpt import GPT, Attention, Block
from course_lib.tensor_parallel.operators import (
    copy_to_ranks,
    gather_sequence,
    own_sequence,
    scatter_sequence,
    sum_over_ranks,
)


def part_of(comm: Communicator, whole: torch.Tensor, dim: int) -> nn.Parameter:
    """This rank's part of a parameter, as a parameter of its own, which is frozen if the whole one is.

    Raises:
        ValueError: unless the ranks divide it.
    """
    if whole.shape[dim] % comm.world_size:
        raise ValueError(f"{comm.world_size} ranks must divide {tuple(whole.shape)} along dimension {dim}")
    part = nn.Parameter(whole.detach().chunk(comm.world_size, dim)[comm.rank].clone(), whole.requires_grad)
    mark_gradients_of([part], comm)
    return part


class ColumnParallelLinear(nn.Module):
    """Some of the outputs of a layer. Takes x whole, or, with `sequence_parallel`, this rank's part of the sequence."""

    def __init__(self, comm: Communicator, whole: nn.Linear, sequence_parallel: bool = False) -> None:
        super().__init__()
        self.comm, self.enter = comm, gather_sequence if sequence_parallel else copy_to_ranks
        self.weight = part_of(comm, whole.weight, 0)
        self.bias = None if whole.bias is None else part_of(comm, whole.bias, 0)

    def forward(self, x: torch.Tensor) -> torch.Tensor:  # [b, t, inputs] -> [b, t, outputs / p]
        """f, then this rank's outputs."""
        mark_gradients_of(self.parameters(), self.comm)
        return linear(self.enter(self.comm, x), self.weight, self.bias)


class RowParallelLinear(nn.Module):
    """All outputs of a layer from some of its inputs, summed over ranks; the bias is whole and added after the sum.

    With `sequence_parallel` each rank gets its part of the sequence of the sum.
    """

    def __init__(self, comm: Communicator, whole: nn.Linear, sequence_parallel: bool = False) -> None:
        super().__init__()
        self.comm, self.leave = comm, scatter_sequence if sequence_parallel else sum_over_ranks
        self.weight = part_of(comm, whole.weight, 1)
        self.bias = None if whole.bias is None else nn.Parameter(whole.bias.detach().clone(), whole.bias.requires_grad)

    def forward(self, x: torch.Tensor) -> torch.Tensor:  # [b, t, inputs / p] -> [b, t, outputs]
        """This rank's addend, then g, then the bias."""
        mark_gradients_of([self.weight], self.comm)
        y = self.leave(self.comm, linear(x, self.weight))
        return y if self.bias is None else y + self.bias


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
