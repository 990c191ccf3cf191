"""What an exercise is: data and small functions.

An `Exercise` makes fresh `Case`s, each with every rank's input and what must come of it; `Rule`s look at the wire, and
diagnoses turn a plausible mistake into a message that helps. The judge and the check in the notebook read the same
specification.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import torch

from course_lib.comm.errors import CommError, DeadlockError, MismatchError, Pending
from course_lib.comm.network import Network
from course_lib.comm.trace import Trace

NUMBERS = (torch.float32, torch.float64, torch.int32, torch.int64)  # dtypes, where counts travel beside values
WIDE = 2**20 - 1  # float32 holds the sums of up to 15 such numbers exactly
CASE_S = 10  # seconds that one case may take, in the notebook as under the judge: only what does not end takes longer
ANYTHING = object()  # as an expected value: this rank's answer is not looked at


@dataclass(frozen=True)
class Part:
    """Expected value of a stretch of a tensor, counted in flat elements; the rest is not looked at."""

    start: int
    values: torch.Tensor


@dataclass(frozen=True)
class Case:
    """One trial.

    Attributes:
        world_size: number of ranks.
        inputs: for each rank its arguments after `comm`; in mode "function" the arguments of each call.
        expected: for each rank (each call) a tensor, `Part`, number, text, list of these, `ANYTHING`, or a function
            that takes the value and returns what is wrong with it, or None.
        perturb: how many more trials of this shape run with one message changed on the way.
        label: what the student reads about this case; empty for "world_size 3, 7 elements".
        about: whatever rules and diagnoses want to know.
        begins_s: when each rank begins on the virtual clock; empty where all begin at once. So who receives from
            anyone sees messages come in another order than that of the ranks.
    """

    world_size: int
    inputs: Sequence[tuple[Any, ...]]
    expected: Sequence[Any]
    perturb: int = 0
    label: str = ""
    about: Mapping[str, Any] = field(default_factory=dict)
    begins_s: Sequence[float] = ()

    @property
    def tensor(self) -> torch.Tensor:
        """The first tensor among the arguments of rank 0."""
        return next(value for value in self.inputs[0] if isinstance(value, torch.Tensor))

    @property
    def message_bytes(self) -> int:
        """Bytes of that tensor."""
        return self.tensor.nbytes

    def __str__(self) -> str:
        if self.label:
            return self.label
        elements = [value.numel() for value in self.inputs[0] if isinstance(value, torch.Tensor)][:1]
        return f"world_size {self.world_size}" + (f", {elements[0]} elements" if elements else "")


@dataclass(frozen=True)
class Failure:
    """Why a program did not come to its end.

    Attributes:
        kind: "deadlock", "exception", "mismatch", "dtype", "unmatched", "timeout", "died", "flood", "not attempted",
            "no function" or "judge".
        text: what the student reads.
        rank: the rank it happened on, if one.
        where: the student's line.
        cause: for "exception" the name of its type.
        call: in mode "function" the number of the call it happened in.
        pending: for "deadlock" what each blocked rank waits in; all of them, where the text names the first 16.
        finished: for "deadlock" the ranks that had ended.
        sent: for "mismatch" the dtype that `rank` sent.
        expected: for "mismatch" the dtype that the other side expected.
    """

    kind: str
    text: str
    rank: int | None = None
    where: str = ""
    cause: str = ""
    call: int = 0
    pending: Mapping[int, Pending] = field(default_factory=dict)
    finished: tuple[int, ...] = ()
    sent: str = ""
    expected: str = ""

    @classmethod
    def of(cls, error: CommError, kind: str) -> Failure:
        """The failure that an error of the communicator is, with what it knows beside its text."""
        if isinstance(error, DeadlockError):
            blocked = min(error.pending, default=None)
            return cls(kind, str(error), blocked, pending=error.pending, finished=error.finished)
        if isinstance(error, MismatchError):
            sent, expected = (words.split(" ")[0] for words in (error.sent, error.expected))
            return cls(kind, str(error), error.src, sent=sent, expected=expected)
        return cls(kind, str(error))


@dataclass(frozen=True)
class Outcome:
    """What came of a case: each rank's value (as far as it got), the wire's trace, and the failure, if any."""

    values: list[Any]
    trace: Trace
    failure: Failure | None = None


@dataclass(frozen=True)
class Rule:
    """Something the wire must obey.

    Attributes:
        check: takes the case and the trace, returns what is wrong, or None.
        costs: points lost if it is broken; None for all of them.
    """

    check: Callable[[Case, Trace], str | None]
    costs: float | None = None


Diagnosis = Callable[[Case, Outcome], str | None]


@dataclass(frozen=True)
class Mistake:
    """A mistake that students make: an edit of the solution, and what they read.

    Attributes:
        text: the sentence that says what went wrong; what stands in braces is computed from the call's arguments.
        edits: what stands in the solution, and what stands in its place by mistake.
        answer: where it is no edit, the name of a wrong answer in the catalogue.
        points: what it keeps.
        told: whether a student whose answer does the same reads this; if not, a rule or a diagnosis says these words.
    """

    text: str
    edits: tuple[tuple[str, str], ...] = ()
    answer: str = ""
    points: float = 0.0
    told: bool = True


@dataclass(frozen=True)
class Exercise:
    """One exercise.

    Attributes:
        id: chapter and letter, "02a".
        function: the name that the student defines.
        cases: makes fresh cases, the smallest first. It is called several times and must yield the same shapes.
        answer: which value is looked at: "argument" (the first one, changed in place) or "return".
        mode: "ranks" (`function(comm, *inputs)` on every rank) or "function" (`function(*inputs)` for each call).
        rules: checked in order once the values are right.
        mistakes: those that students make most often, each with its sentence; they are answers, too, for the tests.
        diagnoses: tried in order when something failed or a value is wrong; the first text found is the message.
        perturbation: who must show a message that was changed on the way: its "receiver", or anyone "downstream";
            None where a change need not show. See `course_lib.grading.judge.perturb`.
        whole_multiples: whether a change shows as a whole multiple of the secret amount (true of sums).
        hints: each unfolds after the one before.
        tolerance: allowed relative difference of floats; 0 for exactly equal.
        clock: whether `comm.compute` moves the judge's clock on `network`.
        draft: whether `course new-exercise` made it, and nobody has written it yet.
        stand_ins: source that comes behind the student's cells: functions of earlier exercises in place of the
            student's own, so that a mistake in those costs its points once; or one around the answer that counts what
            it does.
        dtypes: what messages may be made of, so that their bytes say how many elements they hold.
    """

    id: str
    title: str
    function: str
    points: float
    cases: Callable[[np.random.Generator], Iterable[Case]]
    answer: Literal["argument", "return"] = "argument"
    mode: Literal["ranks", "function"] = "ranks"
    rules: tuple[Rule, ...] = ()
    mistakes: tuple[Mistake, ...] = ()
    diagnoses: tuple[Diagnosis, ...] = ()
    perturbation: Literal["receiver", "downstream"] | None = "downstream"
    whole_multiples: bool = True
    hints: tuple[str, ...] = ()
    tolerance: float = 0.0
    clock: bool = False
    draft: bool = False
    stand_ins: str = ""
    dtypes: tuple[torch.dtype, ...] = (torch.float32,)
    network: Network = field(default_factory=lambda: Network(latency_s=1e-6, bytes_per_s=1e9))

    @property
    def way(self) -> Literal["ranks", "in place", "function"]:
        """How an answer is called: its mode, and on ranks whether it works in place."""
        return "in place" if self.mode == "ranks" and self.answer == "argument" else self.mode

    @property
    def chapter(self) -> str:
        """The two digits of the chapter."""
        return self.id[:2]


def refused_dtype(dtypes: Sequence[torch.dtype], payload: Any, rank: int, dst: int) -> str | None:
    """What is wrong with sending this tensor (or whatever has its dtype and shape) where messages are of `dtypes`."""
    if payload.dtype in dtypes or 0 in payload.shape:
        return None
    allowed = " or ".join(str(dtype) for dtype in dtypes)
    return f"rank {rank} sent {payload.dtype} to rank {dst}; the messages of this exercise are {allowed}"


def whole_numbers(
    rng: np.random.Generator, length: int, dtype: torch.dtype = torch.float32, most: int = 99
) -> torch.Tensor:
    """Random whole numbers from -most to most, none of them 0: their sums are exact in any order.

    With `most=WIDE` neither do two of them fit into one float32, nor one into fewer bits.

    >>> whole_numbers(np.random.default_rng(0), 4)
    tensor([-85., -64., -51., -27.])
    """
    return torch.from_numpy(rng.integers(1, most + 1, length) * rng.choice([-1, 1], length)).to(dtype)
