"""Who sees a flipped bit: one step of data-parallel training, a flip in one of four places, and three checks.

    place of the flip          the step                                         the check that sees it
    as it is computed          gradient of this rank's part                     the part computed twice
    in the buffer              (its checksum is taken)  →  lies there           checksums of the contributions
    in the sum                 reduce-scatter  →  all-gather                    checksums of the contributions
    in the weights             update                                           hashes of the weights

After the first three all ranks hold the same wrong weights: their hashes agree.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Hashable, Sequence
from typing import NamedTuple

import torch

from course_lib.collectives import all_gather, reduce_scatter
from course_lib.comm import Communicator
from course_lib.faults.experiments.bits import flip_bit
from course_lib.tasks import Classifier, Digits, digit_batches

__all__ = ["CHECKS", "PLACES", "Verdict", "corrupted_step", "outvoted", "row_hash"]

PLACES = ("as it is computed", "in the buffer", "in the sum", "in the weights")
CHECKS = ("hashes of the weights", "checksums of the contributions", "parts computed twice")
_ROUNDING = 2.0**-24  # of one addition in float32, as a share


class Verdict(NamedTuple):
    """What a check says: whether something is wrong, and whose fault it is; None: it cannot tell."""

    wrong: bool
    rank: int | None


def row_hash(row: torch.Tensor) -> int:
    """The bytes of a row as a number of 56 bits, which fits into an int64; one bit makes another hash."""
    return int.from_bytes(hashlib.blake2b(row.cpu().contiguous().numpy().tobytes(), digest_size=7).digest())


def outvoted(votes: Sequence[Hashable]) -> list[int] | None:
    """The ranks that differ from what more than half of the ranks say; None: no such majority.

    >>> outvoted("aba"), outvoted("aaa"), outvoted("ab")
    ([1], [], None)
    """
    vote, count = Counter(votes).most_common(1)[0]
    if 2 * count <= len(votes):
        return None
    return [rank for rank, other in enumerate(votes) if other != vote]


def corrupted_step(
    comm: Communicator, digits: Digits, place: str = "", *, rank: int = 1, bit: int = 29, copies: int = 2
) -> dict[str, Verdict]:
    """One step with all three checks, in which a bit of the largest number flips on `rank` at one of `PLACES`.

    Args:
        place: "": no bit flips.
        copies: how many ranks compute each part of the batch, its own and those to the left of it.
    """

    def strike(row: torch.Tensor, here: str) -> None:
        if comm.rank == rank and here == place:
            flip_bit(row, int(row.abs().argmax()), bit)

    task = Classifier()
    weights = task.initial().to(digits.train_inputs.device)
    parts = [_gradient(task, weights, digits, (comm.rank + d) % comm.world_size) for d in range(copies)]
    mine = parts[0]
    strike(mine, "as it is computed")
    announced = _sums(mine, comm.world_size)
    strike(mine, "in the buffer")
    own = torch.empty_like(mine.tensor_split(comm.world_size)[comm.rank])
    total = torch.empty_like(mine)
    reduce_scatter(comm, own, [chunk.clone() for chunk in mine.tensor_split(comm.world_size)])
    strike(own, "in the sum")
    all_gather(comm, list(total.tensor_split(comm.world_size)), own)
    weights = weights - 0.5 * total / comm.world_size
    strike(weights, "in the weights")
    answers = (_by_hash(comm, weights), _by_checksum(comm, announced, mine, total), _by_copies(comm, parts))
    return dict(zip(CHECKS, answers, strict=True))


def _gradient(task: Classifier, weights: torch.Tensor, digits: Digits, rank: int) -> torch.Tensor:
    return task.gradient(weights, *next(digit_batches(32, rank=rank, digits=digits)))


def _sums(row: torch.Tensor, chunks: int) -> torch.Tensor:
    """For each chunk the sum of its numbers and of their absolute values: [chunks, 2], float64."""
    parts = [chunk.double() for chunk in row.tensor_split(chunks)]
    return torch.stack([torch.stack([part.sum(), part.abs().sum()]) for part in parts])


def _gather(comm: Communicator, row: torch.Tensor) -> torch.Tensor:
    """Every rank's row: [p, ...]."""
    rows = [torch.empty_like(row) for _ in range(comm.world_size)]
    all_gather(comm, rows, row)
    return torch.stack(rows)


def _votes(comm: Communicator, rows: Sequence[torch.Tensor]) -> list[list[int]]:
    """Every rank's hashes of its rows: [p][rows]."""
    return _gather(comm, torch.tensor([row_hash(row) for row in rows])).tolist()


def _by_hash(comm: Communicator, weights: torch.Tensor) -> Verdict:
    """All ranks should hold the same weights, bit by bit."""
    votes = [vote for (vote,) in _votes(comm, [weights])]
    guilty = outvoted(votes)
    return Verdict(len(set(votes)) > 1, guilty[0] if guilty else None)


def _by_checksum(comm: Communicator, announced: torch.Tensor, mine: torch.Tensor, total: torch.Tensor) -> Verdict:
    """The sum of a chunk of the result should be that of all contributions' sums, but for rounding.

    If not, each rank looks whether its contribution still has the checksum that it announced. If all have, the sum went
    wrong under way; the chunk is known, but every rank has added to it.

    Source for the idea: K. Huang and J. Abraham, "Algorithm-based fault tolerance for matrix operations", IEEE
    Transactions on Computers C-33(6), 1984.
    """
    sums, sizes = _gather(comm, announced).sum(0).unbind(1)
    gaps = (_sums(total, comm.world_size)[:, 0] - sums).abs()
    wrong = not bool((gaps <= comm.world_size * _ROUNDING * sizes).all())  # a gap that is no number is wrong, too
    changed = not torch.equal(_sums(mine, comm.world_size), announced)
    guilty = _gather(comm, torch.tensor([int(changed)])).flatten().nonzero().flatten().tolist()
    return Verdict(wrong, guilty[0] if wrong and guilty else None)


def _by_copies(comm: Communicator, parts: Sequence[torch.Tensor]) -> Verdict:
    """Whoever computed a part should have got the same bits. Of two that differ one is wrong; of three, the odd one."""
    votes, wrong = _votes(comm, parts), False
    for part in range(comm.world_size):
        computed_by = [(part - d) % comm.world_size for d in range(len(parts))]
        said = [votes[rank][d] for d, rank in enumerate(computed_by)]
        wrong = wrong or len(set(said)) > 1
        guilty = outvoted(said)
        if guilty:
            return Verdict(True, computed_by[guilty[0]])
    return Verdict(wrong, None)
