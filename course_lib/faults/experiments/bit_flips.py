"""Silent data corruption: which flipped bits matter to a training, and which of three checks detects them.

    place of the flip          the step                                         the check that sees it
    as it is computed          gradient of this rank's part                     the part computed twice
    in the buffer              (its checksum is taken)  →  lies there           checksums of the contributions
    in the sum                 reduce-scatter  →  all-gather                    checksums of the contributions
    in the weights             update                                           hashes of the weights

After the first three all ranks hold the same wrong weights: their hashes agree.
"""

from __future__ import annotations

import hashlib
import math
from collections import Counter
from collections.abc import Hashable, Sequence
from typing import NamedTuple

import torch

from course_lib.collectives import all_gather, reduce_scatter
from course_lib.comm import Communicator
from course_lib.data_parallel.experiments.replicas import replica_gradients, replica_losses, start_replicas
from course_lib.tasks import Classifier, Digits, digit_batches

_SIZES = (64, 32, 10)
_WHERE = ("gradient", "weight")


class BitEffects(NamedTuple):
    """Losses on all training digits, right after the flip and at the end: a number for each bit, and without a flip."""

    after: list[float]
    end: list[float]
    clean_after: float
    clean_end: float


def flip_bit(row: torch.Tensor, element: int, bit: int) -> None:
    """Flip one bit of one float32, in place: 31 is the sign, 30 to 23 the exponent, 22 to 0 the mantissa.

    Raises:
        ValueError: if the numbers are not float32, or there is no such bit.

    >>> row = torch.tensor([1.0, 1.0, 1.0])
    >>> flip_bit(row, 0, 31), flip_bit(row, 1, 22), flip_bit(row, 2, 30)
    (None, None, None)
    >>> row
    tensor([-1.0000,  1.5000,     inf])
    """
    if row.dtype != torch.float32 or not 0 <= bit < 32:
        raise ValueError(f"a bit from 0 to 31 of float32 can flip, got bit {bit} of {row.dtype}")
    mask = torch.tensor(1 << bit, dtype=torch.int64).to(torch.int32)  # bit 31 is the sign of an int32, too
    row.view(-1).view(torch.int32)[element] ^= mask


def bit_effects(
    digits: Digits,
    where: str = "gradient",
    *,
    always: bool = False,
    clip_norm: float = math.inf,
    steps: int = 100,
    at_step: int = 30,
    seed: int = 0,
) -> BitEffects:
    """The losses of 32 trainings, one for each bit, and of one in which no bit flips.

    All see the same batches. In training b, bit b of one number flips: of a gradient after the backward pass, or of a
    weight after the update. The number is drawn from `seed`, in the last layer.

    Args:
        always: the bit flips in every step from `at_step` on, as on a processor that is broken; else once.
        clip_norm: longer gradients are made so long.

    Raises:
        ValueError: if `where` is neither "gradient" nor "weight".
    """
    if where not in _WHERE:
        raise ValueError(f"where must be one of {', '.join(_WHERE)}, got {where!r}")
    parameters = start_replicas(_SIZES, [seed] * 33)
    element = int(torch.randint(_SIZES[1] * _SIZES[2], (1,), generator=torch.Generator().manual_seed(seed)))
    losses: list[list[float]] = []
    batches = digit_batches(32, seed=seed, digits=digits)
    for step in range(steps):
        inputs, labels = (part.expand(33, *part.shape) for part in next(batches))
        gradients = replica_gradients(parameters, inputs, labels)
        struck = step == at_step or (always and step > at_step)
        if struck and where == "gradient":
            _flip_each(gradients[2], element)
        for parameter, gradient in zip(parameters, _clipped(gradients, clip_norm), strict=True):
            parameter -= 0.5 * gradient
        if struck and where == "weight":
            _flip_each(parameters[2], element)
        if step in (at_step, steps - 1):
            losses.append(_losses(parameters, digits))
    after, end = losses[0], losses[-1]
    return BitEffects(after[:32], end[:32], after[32], end[32])


def _losses(parameters: Sequence[torch.Tensor], digits: Digits) -> list[float]:
    """Of each training; what is no number any more counts as infinite."""
    inputs, labels = (part.expand(33, *part.shape) for part in digits[:2])
    return replica_losses(parameters, inputs, labels).nan_to_num(math.inf, math.inf, math.inf).tolist()


def _flip_each(replicas: torch.Tensor, element: int) -> None:
    """Flip bit b in replica b."""
    for bit in range(32):
        flip_bit(replicas[bit], element, bit)


def _clipped(gradients: Sequence[torch.Tensor], clip_norm: float) -> list[torch.Tensor]:
    """Each replica's gradients, scaled so that all of them together are no longer than `clip_norm`."""
    if math.isinf(clip_norm):
        return list(gradients)
    norm = torch.stack([gradient.double().flatten(1).norm(dim=1) for gradient in gradients]).norm(dim=0)
    scale = (clip_norm / norm).clamp(max=1.0).view(-1, 1, 1)
    return [(gradient.double() * scale).float() for gradient in gradients]


PLACES = ("as it is computed", "in the buffer", "in the sum", "in the weights")
CHECKS = ("hashes of the weights", "checksums of the contributions", "parts computed twice")
_ROUNDING = 2.0**-24  # of one addition in float32, as a share


class CheckResult(NamedTuple):
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
) -> dict[str, CheckResult]:
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


def _by_hash(comm: Communicator, weights: torch.Tensor) -> CheckResult:
    """All ranks should hold the same weights, bit by bit."""
    votes = [vote for (vote,) in _votes(comm, [weights])]
    guilty = outvoted(votes)
    return CheckResult(len(set(votes)) > 1, guilty[0] if guilty else None)


def _by_checksum(comm: Communicator, announced: torch.Tensor, mine: torch.Tensor, total: torch.Tensor) -> CheckResult:
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
    return CheckResult(wrong, guilty[0] if wrong and guilty else None)


def _by_copies(comm: Communicator, parts: Sequence[torch.Tensor]) -> CheckResult:
    """Whoever computed a part should have got the same bits. Of two that differ one is wrong; of three, the odd one."""
    votes, wrong = _votes(comm, parts), False
    for part in range(comm.world_size):
        computed_by = [(part - d) % comm.world_size for d in range(len(parts))]
        said = [votes[rank][d] for d, rank in enumerate(computed_by)]
        wrong = wrong or len(set(said)) > 1
        guilty = outvoted(said)
        if guilty:
            return CheckResult(True, computed_by[guilty[0]])
    return CheckResult(wrong, None)
