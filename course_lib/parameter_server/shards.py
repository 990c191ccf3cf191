"""Sharding: which server holds which part of the parameters, as data."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate, pairwise
from typing import NamedTuple

import torch

from course_lib.checks import at_least


class Piece(NamedTuple):
    """A stretch of the flat parameters: from `start` up to, not including, `stop`."""

    start: int
    stop: int


Shard = tuple[Piece, ...]
SHARD_RULES = ("even", "tensor", "size")


def shard_plan(lengths: Sequence[int], servers: int, by: str = "even") -> tuple[Shard, ...]:
    """The pieces that each server holds of tensors of these `lengths`, laid end to end in one row.

    Args:
        by: "even": the row is cut into equal parts, wherever the cuts fall; "tensor": whole tensors are dealt out in
            turn; "size": whole tensors, the largest first, each to the server that has least so far.

    Raises:
        ValueError: if there is no server or no such rule, or a length is negative.

    Source: R. Graham, "Bounds on multiprocessing timing anomalies", SIAM J. Appl. Math. 17(2), 1969 ("size").

    >>> for rule in SHARD_RULES:
    ...     print(rule, [shard_length(shard) for shard in shard_plan([90, 10, 60, 40], servers=2, by=rule)])
    even [100, 100]
    tensor [150, 50]
    size [100, 100]
    """
    if servers < 1 or by not in SHARD_RULES:
        raise ValueError(f"a plan needs at least 1 server and a rule of {SHARD_RULES}, got {servers} and {by!r}")
    at_least(0, **{f"length {tensor}": length for tensor, length in enumerate(lengths)})
    if by == "even":
        cuts = [sum(lengths) * server // servers for server in range(servers + 1)]
        return tuple((Piece(*cut),) for cut in pairwise(cuts))
    stops = list(accumulate(lengths))
    pieces = [Piece(stop - length, stop) for length, stop in zip(lengths, stops, strict=True)]
    if by == "tensor":
        return tuple(tuple(pieces[server::servers]) for server in range(servers))
    held: list[list[Piece]] = [[] for _ in range(servers)]
    for piece in sorted(pieces, key=lambda piece: piece.start - piece.stop):
        min(held, key=shard_length).append(piece)
    return tuple(tuple(sorted(shard)) for shard in held)


def shard_length(shard: Sequence[Piece]) -> int:
    """How many numbers a shard holds."""
    return sum(piece.stop - piece.start for piece in shard)


def take(flat: torch.Tensor, shard: Shard) -> torch.Tensor:
    """The shard's numbers out of the whole row; a view where the shard is one piece."""
    if len(shard) == 1:
        return flat[shard[0].start : shard[0].stop]
    return torch.cat([flat[:0], *(flat[piece.start : piece.stop] for piece in shard)])


def put(flat: torch.Tensor, shard: Shard, numbers: torch.Tensor) -> None:
    """Write a shard's numbers to where they belong in the whole row.

    Raises:
        ValueError: unless there are as many as the shard holds: one alone would be written to every place.
    """
    if len(numbers) != shard_length(shard):
        raise ValueError(f"a shard of {shard_length(shard)} numbers cannot take {len(numbers)}")
    done = 0
    for start, stop in shard:
        flat[start:stop] = numbers[done : done + stop - start]
        done += stop - start
