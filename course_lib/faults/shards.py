"""A state that no rank holds whole: each writes its piece, and any other number of ranks reads what it needs.

row                   0 1 2 3 4 5 6 7 8 9
saved by four ranks   0 0 0 1 1 1 2 2 3 3
read by three         0 0 0 0 1 1 1 2 2 2      rank 1 reads 4, 5 of saved rank 1's and 6 of 2's
"""

from __future__ import annotations

from itertools import accumulate, pairwise
from typing import Any, NamedTuple

import torch

from course_lib.checks import at_least
from course_lib.collectives import all_gather, chunk_bytes
from course_lib.comm import Communicator
from course_lib.faults.checkpoints import Checkpoints

__all__ = ["Piece", "load_shards", "pieces_to_read", "read_rows", "save_shards"]


class Piece(NamedTuple):
    """What a rank reads of one saved shard: elements start to stop of it, from `at` on in its own."""

    saved_rank: int
    start: int
    stop: int
    at: int


def pieces_to_read(length: int, saved_by: int, rank: int, world_size: int) -> list[Piece]:
    """Where the elements of a rank lie in the shards that `saved_by` ranks have written, in order.

    >>> pieces_to_read(10, saved_by=4, rank=1, world_size=3)
    [Piece(saved_rank=1, start=1, stop=3, at=0), Piece(saved_rank=2, start=0, stop=1, at=2)]
    """
    at_least(0, length=length, rank=rank)
    at_least(1, saved_by=saved_by, world_size=world_size)
    if rank >= world_size:
        raise ValueError(f"{world_size} ranks are 0 to {world_size - 1}, got {rank}")
    (begin, end), pieces = _cuts(length, world_size)[rank], []
    for saved_rank, (first, last) in enumerate(_cuts(length, saved_by)):
        start, stop = max(begin, first), min(end, last)
        if start < stop:
            pieces.append(Piece(saved_rank, start - first, stop - first, start - begin))
    return pieces


def _cuts(length: int, ranks: int) -> list[tuple[int, int]]:
    """Where each rank's elements of a row begin and end, as `tensor_split` cuts it."""
    return list(pairwise(accumulate(chunk_bytes(length, ranks, element_bytes=1), initial=0)))


def save_shards(
    checkpoints: Checkpoints, comm: Communicator, step: int, shards: dict[str, torch.Tensor], **beside: Any
) -> None:
    """Write this rank's shard of each row, and what it keeps `beside`; return when all ranks have."""
    everyone = [torch.zeros(len(shards), dtype=torch.int64) for _ in range(comm.world_size)]
    all_gather(comm, everyone, torch.tensor([len(shard) for shard in shards.values()], dtype=torch.int64))
    lengths = dict(zip(shards, torch.stack(everyone).sum(0).tolist(), strict=True))
    own = {name: shard.clone() for name, shard in shards.items()}  # without the row that it was cut from
    checkpoints.save(step, {**beside, "lengths": lengths, "shards": own})
    comm.barrier()


def load_shards(
    checkpoints: Checkpoints, comm: Communicator, step: int, lengths: dict[str, int]
) -> dict[str, torch.Tensor]:
    """This rank's shard of each row, whatever the number of ranks that wrote them.

    Cost: reads the shards in which this rank has elements, each once; one of them, where it has none.

    Args:
        lengths: elements of each row.

    Raises:
        DamagedFileError: if a file that this rank needs is torn or corrupted.
        FileNotFoundError: if there is no such checkpoint, or not all of it.
        KeyError: if it has no row of this name.
        ValueError: if a row has another length.
    """
    return read_rows(checkpoints, comm, step, lengths, {})


def read_rows(
    checkpoints: Checkpoints, comm: Communicator, step: int, lengths: dict[str, int], files: dict[int, dict[Any, Any]]
) -> dict[str, torch.Tensor]:
    """The same, where some of the files have been read already: `files` by the rank that wrote them, which fills."""
    saved_by, shards = checkpoints.saved_by(step), {}
    for name, length in lengths.items():
        pieces = pieces_to_read(length, saved_by, comm.rank, comm.world_size)
        for rank in [piece.saved_rank for piece in pieces] or [next(iter(files), 0)]:
            files[rank] = files.get(rank) or checkpoints.load_part(step, rank)
            there = files[rank]["lengths"]
            if name not in there:
                raise KeyError(f"step {step} has no row {name!r}, only {', '.join(there) or 'none'}")
            if (saved := there[name]) != length:
                raise ValueError(f"{name} has {length} elements, and the {saved_by} shards of step {step} have {saved}")
        read = [files[piece.saved_rank]["shards"][name][piece.start : piece.stop] for piece in pieces]
        shards[name] = torch.cat(read) if read else next(iter(files.values()))["shards"][name][:0]
    return shards
