"""Exercise 13g: find the bugs in the norm of a gradient that lies on a mesh."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from itertools import chain

import numpy as np

from course_lib.grading.exercise import Case
from course_lib.grading.exercises.chapter_13.shared import Mesh
from course_lib.grading.exercises.common import Reasons, function_exercise

__all__ = ["EXERCISE"]

EMBEDDINGS = ("embedding", "tokens")  # names that one may have, of which a program can rely on none
Part = list  # data, stage, tensor, name, whether tensor ranks split it, gradient
Keep = Callable[[int, int, int, str, bool], bool]  # of all but the gradient


# Cases


def meshes(rng: np.random.Generator) -> Iterator[Case]:
    """Each dimension alone and all together; tied embeddings and others; and numbers that are equal by accident."""
    sizes = [[1, 1, 1], [1, 1, 2], [1, 2, 1], [2, 1, 1], [1, 2, 2], [2, 2, 2], [1, 3, 2], [2, 3, 3]]
    calls = [(_parts(rng, mesh, EMBEDDINGS[number % 2], tied=number != 4),) for number, mesh in enumerate(sizes)]
    calls.append(([[*place, [1, 1]] for *place, _ in _parts(rng, [1, 1, 2], EMBEDDINGS[0], tied=True)],))
    yield Case(1, calls, [_norm(*call) for call in calls], label="nine meshes")


def _parts(rng: np.random.Generator, mesh: Mesh, name: str, *, tied: bool) -> list[Part]:
    """What lies on all ranks: an embedding of this name, a split matrix and a shared norm on each stage, an output."""
    data, stages, tensor = mesh

    def drawn() -> list[int]:
        return rng.integers(1, 30, 2).tolist()

    embedding, output = [drawn() for _ in range(tensor)], [drawn() for _ in range(tensor)]
    copy: list[Part] = []
    for stage in range(stages):
        norm = drawn()
        for t in range(tensor):
            if stage == 0:
                copy.append([stage, t, name, True, embedding[t]])
            copy += [[stage, t, f"linear{stage}", True, drawn()], [stage, t, f"norm{stage}", False, norm]]
            if stage == stages - 1 > 0:
                end = [name, True, embedding[t]] if tied else ["output", True, output[t]]
                copy.append([stage, t, *end])
    return [[d, *each] for d in range(data) for each in copy]


def _kept(parts: list[Part], keep: Keep) -> list[list[int]]:
    """The gradients of what counts."""
    return [gradient for *place, gradient in parts if keep(*place)]


def _length(gradients: list[list[int]]) -> float:
    return math.sqrt(sum(x * x for x in chain(*gradients)))


def _counts(data: int, stage: int, tensor: int, name: str, split: bool) -> bool:
    return data == 0 and (split or tensor == 0) and (name not in EMBEDDINGS or stage == 0)


def _norm(parts: list[Part]) -> float:
    return _length(_kept(parts, _counts))


# Diagnoses

MISTAKES: dict[str, Keep] = {
    "That is the colleague's program: what is left out, and what counts twice?": lambda d, p, t, name, split: (
        d == t == 0
    ),
    "The split parameters are mended; the tied embedding is on two stages and still counts twice": (
        lambda d, p, t, name, split: d == 0 and (split or t == 0)
    ),
    "The embedding is mended; of split parameters the other tensor ranks have parts, too": (
        lambda d, p, t, name, split: _counts(d, p, t, name, split) and t == 0
    ),
    "All tensor ranks have the same gradient of what is not split: it counts once": (
        lambda d, p, t, name, split: d == 0 and (name not in EMBEDDINGS or p == 0)
    ),
    "All that lies anywhere is too much: many numbers are there several times": lambda *place: True,
    "All data ranks have the same gradients: they count once": lambda d, *place: _counts(0, *place),
    "A tied embedding counts once, on one of its two stages": (
        lambda d, p, t, name, split: _counts(d, p, t, name, split) and name not in EMBEDDINGS
    ),
    "The norm is the whole model's: all stages have a part": lambda d, p, *rest: _counts(d, p, *rest) and p == 0,
}


def reasons(parts: list[Part]) -> Reasons:
    for text, keep in MISTAKES.items():
        yield text, _length(_kept(parts, keep))
    alike = "Parts of two tensor ranks are two parts, equal or not: tell them by name and rank, not by their numbers"
    for by_value in ({(part[3], *part[5]): part[5] for part in parts}, {tuple(part[5]): part[5] for part in parts}):
        yield alike, _length(list(by_value.values()))
    yield "Norms do not add up, their squares do", sum(_length([each]) for each in _kept(parts, _counts))
    yield "The norm is the root of the sum of the squares", _norm(parts) ** 2


# The exercise

EXERCISE = function_exercise(
    id="13g",
    title="Find the bugs in a gradient's norm",
    function="mended_norm",
    points=4,
    cases=meshes,
    tolerance=1e-9,
    reasons=reasons,
    hints=(
        "Each number of the model counts once. Which ranks have the same number, and which have another part of it?",
        "Of a split parameter all tensor ranks have a part; of one that is not split only tensor rank 0 may count.",
        "A tied embedding comes by the same name on two stages: count a pair (name, tensor rank) once.",
    ),
)
