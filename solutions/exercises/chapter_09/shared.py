"""What exercises of chapter 9 use: trains of whole numbers, and judging of what is unique about a train: its tensor."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from math import prod
from typing import Any

import numpy as np
import torch

from course_lib.decomposition import TensorTrain
from course_lib.grading.exercise import Case, Diagnosis, Outcome, whole_numbers
from course_lib.grading.verdict import difference

__all__ = ["HUGE", "Judged", "alike", "as_train", "draw_cores", "numbers", "too_large"]

HUGE = (200, 20000, 20000)  # modes of a train whose tensor has 80 billion elements; its cores are small
Judged = Callable[[Any], str | None]  # as an expected value: says what is wrong, or nothing


def draw_cores(
    rng: np.random.Generator, modes: Sequence[int | tuple[int, int]], ranks: Sequence[int], most: int = 3
) -> list[torch.Tensor]:
    """Cores of whole numbers from -most to most, none of them 0; `ranks` are those between the cores."""
    ends = zip(pairwise([1, *ranks, 1]), modes, strict=True)
    shapes = [(r, *((mode,) if isinstance(mode, int) else mode), s) for (r, s), mode in ends]
    return [whole_numbers(rng, prod(shape), most=most).reshape(shape) for shape in shapes]


def numbers(right: Any) -> Judged:
    """These numbers, in whatever shape they come."""
    wanted = torch.as_tensor(right, dtype=torch.float64).reshape(-1)

    def judge(value: Any) -> str | None:
        if value is None:
            return "gave nothing (None): is its `return` missing?"
        came = torch.as_tensor(value, dtype=torch.float64).reshape(-1)
        return difference(wanted[0], came[0]) if len(wanted) == len(came) == 1 else difference(wanted, came)

    return judge


def as_train(value: Any, shape: Sequence[int]) -> TensorTrain | str:
    """The cores that came back as a train of these modes, or what is wrong with them."""
    if not isinstance(value, (list, tuple)):
        return f"gave {'nothing (None)' if value is None else 'no list'}; return the cores, a list of tensors"
    cores = [torch.as_tensor(core, dtype=torch.float64) for core in value]
    shapes = [tuple(core.shape) for core in cores]
    if len(cores) != len(shape) or any(len(each) != 3 for each in shapes):
        return f"gave cores of shapes {shapes}; here are {len(shape)} modes, and each core is [r, n, r']"
    if any(0 in each for each in shapes):
        return f"gave cores of shapes {shapes}, some of them empty: a rank is 1 at least"
    if shapes[0][0] != 1 or shapes[-1][2] != 1:
        return f"gave cores of shapes {shapes}; the first rank and the last are 1, so that an entry is a number"
    if any(left[2] != right[0] for left, right in pairwise(shapes)):
        return f"gave cores of shapes {shapes}; neighbors must have the rank between them in common"
    if tuple(each[1] for each in shapes) != tuple(shape):
        return f"gave cores of shapes {shapes}; the tensor is {' × '.join(map(str, shape))}"
    if not all(core.isfinite().all() for core in cores):
        return "gave cores with numbers that are none, or infinite"
    return TensorTrain(tuple(cores))


def alike(cores: Any) -> Judged:
    """A train of the same ranks and, up to rounding, of the same tensor, whatever its cores."""
    train = as_train(cores, [core.shape[1] for core in cores])

    def judge(value: Any) -> str | None:
        came = train if isinstance(train, str) else as_train(value, train.shape)
        if isinstance(train, str) or isinstance(came, str) or came.ranks != train.ranks or prod(train.shape) > 10**6:
            return "has other ranks"
        full = train.full()
        near = torch.linalg.vector_norm(came.full() - full) <= 1e-4 * torch.linalg.vector_norm(full)
        return None if near else "is another tensor"

    return judge


def too_large(why: str) -> Diagnosis:
    """A call has cores that are small, and a table that no memory holds."""

    def diagnose(case: Case, outcome: Outcome) -> str | None:
        failure = outcome.failure
        if failure is None or prod(prod(core.shape[1:-1]) for core in case.inputs[failure.call][0]) < 10**9:
            return None
        full = failure.kind != "exception" or failure.cause == "MemoryError" or "alloc" in failure.text.lower()
        return f"{why}. {failure.text}" if full else None

    return diagnose
