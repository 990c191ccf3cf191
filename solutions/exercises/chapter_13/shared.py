"""What exercises of chapter 13 use: places on a mesh, outermost dimension first."""

from __future__ import annotations

import math
from collections.abc import Sequence

__all__ = ["Mesh", "Model", "coordinates", "rank_at"]

Mesh = list[int]  # ranks in each dimension: data, pipeline, tensor
Model = list[int]  # layers, hidden, heads, sequence


def coordinates(rank: int, mesh: Sequence[int]) -> list[int]:
    """Where a rank is; the last dimension counts fastest."""
    return [rank // math.prod(mesh[place + 1 :]) % size for place, size in enumerate(mesh)]


def rank_at(places: Sequence[int], mesh: Sequence[int]) -> int:
    """The rank in a place."""
    return sum(place * math.prod(mesh[number + 1 :]) for number, place in enumerate(places))
