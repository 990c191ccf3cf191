"""Ranks as points of a mesh: which groups each dimension makes, and which of them stay inside a node.

    Mesh(data=2, pipeline=2, tensor=2)       tensor 0  1        tensor 0  1
                               pipeline 0           0  1                 4  5
                               pipeline 1           2  3                 6  7
                                              data 0              data 1

The innermost dimension counts fastest, so its groups are ranks side by side: a node, if the mesh fits the machine.

A fourth dimension, context, cuts the sequences. A mesh has it where it has more than one rank. In attention keys and
values then go round a ring of context ranks:

places of 8 tokens   context 0: 0 1 6 7   context 1: 2 3 4 5      the same work under a causal mask (chapter 05)
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from typing import NamedTuple, TypeAlias

import numpy as np
import torch

from course_lib.comm import Communicator
from course_lib.tasks.gpt import Attention
from course_lib.tensor_parallel import ParallelAttention, places_in_zigzag, ring_attention

DIMENSIONS = ("data", "pipeline", "tensor")
_FOUR = ("data", "pipeline", "context", "tensor")


class Coordinates(NamedTuple):
    """Where a rank is, one number a dimension."""

    data: int
    pipeline: int
    tensor: int

    @property
    def context(self) -> int:
        """Its place in a sequence that is not cut."""
        return 0


class CoordinatesOfFour(NamedTuple):
    """The same on a mesh with context ranks."""

    data: int
    pipeline: int
    context: int
    tensor: int


At: TypeAlias = Coordinates | CoordinatesOfFour


@dataclass(frozen=True)
class Mesh:
    """How many ranks each dimension has, and in which order the dimensions count.

    Args:
        order: outermost dimension first, innermost last; without context if that has one rank.
        context: ranks over which each sequence is cut.

    Raises:
        ValueError: unless each dimension has a rank (no part of one), and the order names each dimension once.

    >>> mesh = Mesh(data=2, pipeline=2, tensor=2)
    >>> mesh.coordinates(5)
    Coordinates(data=1, pipeline=0, tensor=1)
    >>> mesh.groups("pipeline")
    [(0, 2), (1, 3), (4, 6), (5, 7)]
    >>> Mesh(data=2, tensor=2, context=2).coordinates(5)
    CoordinatesOfFour(data=1, pipeline=0, context=0, tensor=1)
    """

    data: int = 1
    pipeline: int = 1
    tensor: int = 1
    order: tuple[str, ...] = _FOUR
    context: int = 1

    def __post_init__(self) -> None:
        sizes = self.data, self.pipeline, self.context, self.tensor
        if not all(isinstance(size, int | np.integer) and size >= 1 for size in sizes):
            raise ValueError(f"each dimension must have a rank, and no part of one, got {self.shape}")
        if sorted(self.order) not in [sorted(names) for names in {_FOUR, self.dimensions}]:
            raise ValueError(f"order must name each of {self.dimensions} once, got {self.order}")
        object.__setattr__(self, "order", tuple(each for each in self.order if each in self.dimensions))

    @property
    def dimensions(self) -> tuple[str, ...]:
        """Data, pipeline and tensor, and context where a sequence is cut."""
        return DIMENSIONS if self.context == 1 else _FOUR

    @property
    def shape(self) -> tuple[int, ...]:
        """Ranks of each of its dimensions."""
        return tuple(getattr(self, each) for each in self.dimensions)

    @property
    def world_size(self) -> int:
        """All ranks."""
        return self.data * self.pipeline * self.context * self.tensor

    def stride(self, dimension: str) -> int:
        """From a rank to its neighbor in a dimension: the ranks of all dimensions further in, multiplied.

        Raises:
            ValueError: if there is no such dimension.
        """
        if dimension not in _FOUR:
            raise ValueError(f"dimension must be one of {self.dimensions}, got {dimension!r}")
        if dimension not in self.order:
            return 1  # to nobody: context has one rank
        return math.prod(getattr(self, each) for each in self.order[self.order.index(dimension) + 1 :])

    def coordinates(self, rank: int) -> At:
        """Where a rank is.

        Raises:
            ValueError: if there is no such rank.
        """
        if not 0 <= rank < self.world_size:
            raise ValueError(f"a mesh of {self.shape} has ranks 0 to {self.world_size - 1}, got {rank}")
        return self._at(*(rank // self.stride(each) % getattr(self, each) for each in self.dimensions))

    @property
    def _at(self) -> type[Coordinates] | type[CoordinatesOfFour]:
        return Coordinates if self.context == 1 else CoordinatesOfFour

    def rank_at(self, coordinates: At) -> int:
        """The rank in a place; the inverse of `coordinates`."""
        return sum(place * self.stride(each) for each, place in zip(self.dimensions, coordinates, strict=True))

    def group_of(self, rank: int, *dimensions: str) -> tuple[int, ...]:
        """The ranks that differ from this one in these dimensions only, this one among them, in order.

        >>> Mesh(2, 2, 2).group_of(5, "tensor"), Mesh(2, 2, 2).group_of(5, "pipeline", "tensor")
        ((4, 5), (4, 5, 6, 7))
        """
        first, here = rank, self.coordinates(rank)
        steps = []
        for dimension in sorted(set(dimensions), key=self.stride, reverse=True):  # the outermost counts slowest
            stride, size = self.stride(dimension), getattr(self, dimension)
            first -= stride * getattr(here, dimension)
            steps.append(range(0, stride * size, stride))
        return tuple(first + sum(each) for each in product(*steps))

    def groups(self, dimension: str) -> list[tuple[int, ...]]:
        """The groups of a dimension; every rank is in one of them.

        Cost: linear in the ranks.
        """
        place, size = self.stride(dimension), getattr(self, dimension)
        return [self.group_of(rank, dimension) for rank in range(self.world_size) if not rank // place % size]

    def dimension_between(self, src: int, dst: int) -> str:
        """The dimension in which two ranks differ, "" if they differ in none or in several.

        >>> Mesh(2, 2, 2).dimension_between(1, 3)
        'pipeline'
        """
        differing = list(self._differing(src, dst))
        return differing[0] if len(differing) == 1 else ""

    def _differing(self, src: int, dst: int) -> Iterator[str]:
        for each, a, b in zip(self.dimensions, self.coordinates(src), self.coordinates(dst), strict=True):
            if a != b:
                yield each

    def crosses_nodes(self, dimension: str, ranks_per_node: int) -> bool:
        """Whether a group of this dimension has ranks in more than one node."""
        return any(len({rank // ranks_per_node for rank in group}) > 1 for group in self.groups(dimension))


class MeshRank:
    """This rank on a mesh: its coordinates, and a communicator for each dimension.

    Attributes:
        at: the coordinates. data, pipeline, context, tensor: this rank's group in each dimension.
        copies: the ranks that hold the same part of the model as this one: data and context together.

    Raises:
        ValueError: if the mesh has not as many places as there are ranks.
    """

    def __init__(self, comm: Communicator, mesh: Mesh) -> None:
        if mesh.world_size != comm.world_size:
            text = f"a mesh of {mesh.shape} needs {mesh.world_size} ranks, there are {comm.world_size}"
            raise ValueError(text)
        self.comm = comm
        self.mesh = mesh
        self.at = mesh.coordinates(comm.rank)
        self.data = comm.group(mesh.group_of(comm.rank, "data"))
        self.pipeline = comm.group(mesh.group_of(comm.rank, "pipeline"))
        self.context = comm.group(mesh.group_of(comm.rank, "context"))
        self.tensor = comm.group(mesh.group_of(comm.rank, "tensor"))
        self.copies = comm.group(mesh.group_of(comm.rank, "data", "context"))


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
