"""A secret change of one message on its way, and who must show it.

Counts alone do not prove that messages carried anything: ranks that whisper through a file can send a perfect ring of
zeros. So in some trials the judge adds secret amounts to half of the elements of one secret message, after it has left
its sender: to each element another amount, all of them whole multiples of a secret unit. (One amount for all could be
read off an element that is known to be zero, and taken off the others.) What arrives lies within the message's own
range, 0 included, and is whole where the message was: an answer that asserts what data may be finds nothing strange. If
nobody shows that, which may be the way of a maximum, the same is tried with amounts above all data. A rank is a
function of its own input and of what it receives. Therefore

1. *Whoever cannot have felt it must not show it.* A rank is downstream if it has waited for the changed message, or for
   one that a downstream rank posted afterwards. Every other rank has received exactly what it would have received
   anyway, so its result must be the expected one, whatever the algorithm.
2. *Someone who felt it must show it.* A message that carries data is used: in the result of its receiver
   ("receiver"; true of every all-reduce, where each rank needs what it gets), or, where ranks relay what is not
   theirs, in the result of someone downstream ("downstream"). It is enough that 1/(4 world_size) of the changed
   elements show, or a quarter of a result that has fewer: whoever sends the whole tensor and uses one chunk, padded at
   its end, or sends a matrix and uses its diagonal, wastes bytes but computes.
   Messages much smaller than the largest (tokens, counters) are never chosen. Where downstream is asked for and
   nobody shows it, that message may have been superfluous: then one more trial changes all messages that carry data,
   and that must show.
3. *It must show as what it is.* Inputs are whole numbers, so a sum changes by exactly a whole multiple of the unit.
   (Not asked of messages in 16 bits or fewer, where the amounts could not be added exactly.)

Who passes all three has results that depend on the messages as a sum does. Ranks whose result came another way show
nothing (2). Ranks that whisper the sums and mix the message in by guesswork fail (1) or (3): amounts and message are
secret, and who is downstream follows from the order of events, which only the judge knows. What is left to a cheat is
to add what arrives in a dummy, or how it differs from what its sender whispered, and to carry that on as the algorithm
would: that is the algorithm, with a detour. Where only the receiver has to show a change, carrying on is not asked for,
so dummies that are merely added pass. The change proves that messages are used; only walls keep whispers out.

The rules about the wire hold in these trials, too. So it gains nothing to find out which trial this is.

Fairness: the expected results hold for any structure, because nothing is assumed about who sends what; the message is
picked among those that a run of the same shape has just sent, and programs are deterministic on the judge's clock.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch

from course_lib.grading.sandbox.frames import Payload
from course_lib.grading.sandbox.tensors import raw_bytes

MIN_SHARE = 0.5  # of the largest message's bytes, for a message to count as data
EXACT = (torch.float32, torch.float64, torch.int32, torch.int64)  # dtypes that hold our sums and amounts exactly
MAX_WHOLE = 8  # elements of a message that is changed in all of them, and not in half
UNITS, LOUD = (31, 100), (200, 1000)  # loud amounts go from 6,200, well above any tolerance, to 98,901
SHARE = 16  # of a message's range, the least that an element is moved by


@dataclass
class Perturbation:
    """Adds secret amounts to half of the elements of the message that is delivered as number `index`.

    Each element gets another amount, a whole multiple of `unit`, which is made smaller where the message's range asks
    for that, unless the change is `loud`. With `index` None, every message of at least `min_bytes` is changed. What
    became of it is noted: sender and receiver (of the last), and how many elements.
    """

    index: int | None
    unit: float
    seed: int = 0
    min_bytes: int = 1
    loud: bool = False
    receiver: int | None = None
    sender: int | None = None
    elements: int = 0
    step: int = 0
    exact: bool = True
    drawn: float = field(init=False)

    def __post_init__(self) -> None:
        self.drawn = self.unit

    def louder(self, shown_by: str) -> Perturbation | None:
        """What to try where nobody showed this one: amounts above all data; then all messages that carry data."""
        if not self.loud:
            return Perturbation(self.index, self.drawn, self.seed, self.min_bytes, loud=True)
        if self.index is None or shown_by != "downstream":
            return None
        return Perturbation(None, self.drawn, self.seed, self.min_bytes, loud=True)

    def passing(self, number: int, send: Any, recv: Any) -> bytes:
        """The bytes that arrive for this message; the chosen one is changed and its receive is marked."""
        payload: Payload = send.payload
        if self.index not in (number, None) or payload.nbytes < self.min_bytes:
            return payload.data or b""
        self.sender = send.rank
        self.receiver = recv.rank
        self.step = send.step
        self.exact = payload.dtype in EXACT
        recv.tainted = True
        return self._changed(payload, np.random.default_rng([self.seed, number]))

    def _changed(self, payload: Payload, rng: np.random.Generator) -> bytes:
        flat = payload.tensor().reshape(-1)
        self.elements = len(flat) if len(flat) <= MAX_WHOLE else len(flat) // 2
        where = torch.from_numpy(rng.choice(len(flat), self.elements, replace=False))
        if flat.dtype == torch.bool:
            flat[where] = ~flat[where]
            return raw_bytes(flat)
        wide = flat.to(_wide(flat.dtype))  # not every dtype can add
        wide[where] += self._amounts(wide, where, rng)
        return raw_bytes(wide.to(flat.dtype))

    def _amounts(self, flat: torch.Tensor, where: torch.Tensor, rng: np.random.Generator) -> torch.Tensor:
        """What these elements are moved by."""
        if not self.exact:
            return torch.ones(self.elements, dtype=torch.int64)
        low, high = min(0.0, flat.min().item()), max(0.0, flat.max().item())
        if self.loud or not 0 < high - low < math.inf:
            return (self.unit * torch.from_numpy(rng.integers(*LOUD, self.elements))).to(flat.dtype)
        self.unit = _unit(flat, high - low, self.unit)
        least = max(1, math.ceil((high - low) / SHARE / self.unit))
        down, up = ((flat[where] - low) // self.unit).long(), ((high - flat[where]) // self.unit).long()
        ways = [(room - least + 1).clamp(min=0) for room in (down, up)]  # how many amounts there are below, and above
        picked = torch.from_numpy(rng.integers(0, 2**62, self.elements)) % (ways[0] + ways[1]).clamp(min=1)
        steps = torch.where(picked < ways[0], -(least + picked), least + picked - ways[0])
        return (steps * self.unit).to(flat.dtype)


def _unit(flat: torch.Tensor, span: float, drawn: float) -> float:
    """At most the unit that was drawn, and so small that an element has several places to go to within the range."""
    if (flat == flat.round()).all():
        return max(1, min(drawn, span // SHARE))
    return min(drawn, 2.0 ** math.floor(math.log2(span / SHARE)))  # a power of two, which floats add exactly


def _wide(dtype: torch.dtype) -> torch.dtype:
    """A dtype that can add and holds all values of this one."""
    if dtype.is_complex:
        return torch.complex128
    return torch.float64 if dtype.is_floating_point else torch.int64


def choose(rng: np.random.Generator, sizes: list[int]) -> Perturbation | None:
    """A perturbation of one of the messages that carry data, given the bytes of each in order of delivery."""
    min_bytes = max(1, math.ceil(MIN_SHARE * max(sizes, default=0)))
    data = [index for index, size in enumerate(sizes) if size >= min_bytes]
    if not data:
        return None
    index, unit, seed = (int(rng.integers(*bounds)) for bounds in ((0, len(data)), UNITS, (0, 2**32)))
    return Perturbation(data[index], unit, seed, min_bytes)


def misplaced(
    change: Perturbation, differences: list[torch.Tensor], downstream: set[int], *, whole_multiples: bool
) -> str | None:
    """Where a change shows that must not, or as what it is not, given each rank's (result - expected)."""
    for rank, difference in enumerate(differences):
        if rank not in downstream and difference.any():
            return f"rank {rank} showed another rank's message although nothing it received had changed"
        if whole_multiples and change.exact and (torch.remainder(difference, change.unit) != 0).any():
            return (
                f"a message from rank {change.sender} to rank {change.receiver} was changed by secret amounts, and "
                f"rank {rank}'s result changed by something else"
            )
    return None


def unshown(
    change: Perturbation, differences: list[torch.Tensor], downstream: set[int], *, shown_by: str
) -> str | None:
    """That nobody shows a change who has to."""
    assert change.receiver is not None
    who = [change.receiver] if shown_by == "receiver" else sorted(downstream)
    shown = max((int((differences[rank] != 0).sum()) for rank in who), default=0)
    largest = max((len(differences[rank]) for rank in who), default=0)
    if shown >= max(1, min(change.elements / (4 * len(differences)), largest / 4)):
        return None
    return (
        f"a message from rank {change.sender} to rank {change.receiver} (step {change.step}) was changed on the way, "
        "and no result showed it: the result was not made from the messages"
    )
