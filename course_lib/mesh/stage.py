"""What a rank of a mesh holds of a GPT: of the blocks those of its stage, and of each block its tensor-parallel part.

             tensor 0             tensor 1
pipeline 0   embedding, heads of  embedding, heads of
             the first blocks     the first blocks
pipeline 1   heads of the last    heads of the last
             blocks, output       blocks, output
"""

from __future__ import annotations

import copy
from typing import cast

import torch
from torch import nn

from course_lib.collectives import ring_all_reduce
from course_lib.mesh.coordinates import ContextAttention, MeshRank, own_places
from course_lib.tasks import GPT
from course_lib.tensor_parallel import (
    ColumnParallelLinear,
    ParallelBlock,
    VocabularyParallelEmbedding,
    is_shared,
    own_sequence,
    vocabulary_parallel_loss,
)


class MeshStage(nn.Module):
    """This rank's part of a whole GPT. A tied embedding is there twice: on the first stage and on the last one.

    Args:
        sequence_parallel: what lies between the blocks, and so what stages pass on, is a part of the sequence.
        chunk, chunks: of how many stages that this rank has it is which one (interleaved schedules).

    Raises:
        ValueError: unless every stage has a block, and the tensor ranks divide heads, hidden numbers and vocabulary.
    """

    def __init__(
        self, here: MeshRank, whole: GPT, sequence_parallel: bool = False, chunk: int = 0, chunks: int = 1
    ) -> None:
        super().__init__()
        stages, layers = chunks * here.mesh.pipeline, len(whole.blocks)
        stage = chunk * here.mesh.pipeline + here.at.pipeline
        if stages > layers:
            raise ValueError(f"every stage must have a block, got {stages} stages for {layers} blocks")
        self.here = here
        self.sequence_parallel = sequence_parallel
        self.tied = whole.config.tied
        self.first, self.last = stage == 0, stage == stages - 1
        self.chunk, self.chunks = chunk, chunks
        own = copy.deepcopy(whole.blocks[stage * layers // stages : (stage + 1) * layers // stages])
        self.blocks = nn.ModuleList(ParallelBlock(here.tensor, block, sequence_parallel) for block in own)
        if here.mesh.context > 1:
            for mine, block in zip(self.blocks, own, strict=True):
                mine.attention = ContextAttention(here.tensor, here.context, block.attention, sequence_parallel)
        if self.first:
            self.embedding = VocabularyParallelEmbedding(here.tensor, whole.embedding, sequence_parallel)
            self.position = copy.deepcopy(whole.position)
        if self.last:
            self.norm = copy.deepcopy(whole.norm)
            self.output = ColumnParallelLinear(here.tensor, whole.output, sequence_parallel)
            if self.first and self.tied:
                self.output.weight = self.embedding.weight

    @property
    def by_number(self) -> dict[int, MeshStage]:
        """This stage, by its place in the pipeline."""
        return {self.chunk * self.here.mesh.pipeline + self.here.at.pipeline: self}

    def forward(self, x: torch.Tensor) -> torch.Tensor:  # [b, s] or [b, s, h] -> [b, s, h] or [b, s, v / t]
        """From tokens or what the stage before gave to what the stage behind takes, or this rank's logits."""
        if self.first:
            places = self._places(x).unsqueeze(0)
            if self.sequence_parallel:
                places = own_sequence(self.here.tensor, places)
            x = self.embedding(x) + self.position(places.to(x.device))
        for block in self.blocks:
            x = block(x)
        return self.output(self.norm(x)) if self.last else x

    def _places(self, tokens: torch.Tensor) -> torch.Tensor:
        """Where in their sequences these tokens stand, which are all of them or this context rank's."""
        return own_places(self.here.context, self.here.mesh.context * tokens.shape[1])

    def loss(self, logits: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        """The mean cross-entropy of the next tokens, the same on every tensor rank of the last stage."""
        return vocabulary_parallel_loss(self.here.tensor, logits, targets)

    def sum_shared_gradients(self) -> None:
        """With sequence parallelism: sum over the tensor ranks what is whole on each but saw only a part."""
        if self.sequence_parallel:
            for name, parameter in self.named_parameters():
                if is_shared(name) and parameter.grad is not None:  # a frozen one has none on any rank
                    ring_all_reduce(self.here.tensor, parameter.grad)


class MeshChunks(nn.ModuleList):
    """All stages of a rank whose schedule is interleaved: stage s lies on pipeline rank s % p."""

    def __init__(self, here: MeshRank, whole: GPT, sequence_parallel: bool, chunks: int) -> None:
        super().__init__(MeshStage(here, whole, sequence_parallel, chunk, chunks) for chunk in range(chunks))
        self.here, self.tied = here, whole.config.tied

    @property
    def by_number(self) -> dict[int, MeshStage]:
        """The stages, by their place in the pipeline."""
        return {number: stage for each in self for number, stage in cast(MeshStage, each).by_number.items()}


def gradients_as_model(whole: GPT) -> GPT:
    """A GPT whose weights are the gradients of this one, to be cut as the model is cut and compared part by part."""
    gradients = copy.deepcopy(whole)
    with torch.no_grad():
        for mine, theirs in zip(gradients.parameters(), whole.parameters(), strict=True):
            mine.copy_(torch.zeros_like(theirs) if theirs.grad is None else theirs.grad)
    return gradients


def largest_difference(part: MeshStage | MeshChunks, whole: GPT, of_gradients: bool = False) -> float:
    """The largest difference between this rank's part and the same part of a whole model, over all its numbers."""
    model = gradients_as_model(whole) if of_gradients else whole
    expected = (
        MeshStage(each.here, model, each.sequence_parallel, each.chunk, each.chunks) for each in part.by_number.values()
    )
    pairs = zip(part.parameters(), (parameter for each in expected for parameter in each.parameters()), strict=True)
    mine = ((each.grad if of_gradients else each, other) for each, other in pairs)
    return max(float((a.detach() - b.detach()).abs().max()) for a, b in mine if a is not None)
