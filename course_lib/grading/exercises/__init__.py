"""The exercises of each chapter: a folder a chapter, a file an exercise.

They stand in `solutions/exercises`: exercise 04b is `chapter_04/b_<function>.py`, and what several of them use stands
beside it. For copies of the course without `solutions/`, `course build` packs all into a file here.
"""

from __future__ import annotations

import importlib
import pkgutil
from functools import cache

from course_lib.grading.exercise import Exercise
from course_lib.grading.exercises.sources import WHERE

__all__ = ["CHAPTER_POINTS", "chapters", "exercises_of", "find", "points_amiss"]

CHAPTER_POINTS = 30
__path__.append(str(WHERE))


def chapters() -> list[str]:
    """The chapters that have exercises, as two digits each.

    Raises:
        FileNotFoundError: if this copy of the course came without any.
    """
    names = [module.name for module in pkgutil.iter_modules(__path__)]
    if not WHERE.exists():
        raise FileNotFoundError(
            f"this copy of the course has no exercises: {WHERE} is missing. In a clone, `course build` packs it"
        )
    return sorted(name.removeprefix("chapter_") for name in names if name.startswith("chapter_"))


@cache
def exercises_of(chapter: str) -> tuple[Exercise, ...]:
    """The exercises of a chapter, in the order of its page.

    Raises:
        KeyError: if the chapter has none.
    """
    if chapter not in chapters():
        raise KeyError(f"chapter {chapter!r} has no exercises; those with exercises: {', '.join(chapters())}")
    package = importlib.import_module(f"{__name__}.chapter_{chapter}")
    names = sorted(module.name for module in pkgutil.iter_modules(package.__path__) if module.name[1:2] == "_")
    return tuple(importlib.import_module(f"{package.__name__}.{name}").EXERCISE for name in names)


def find(exercise_id: str) -> Exercise:
    """The exercise of this id, e.g. "02a".

    Raises:
        KeyError: if there is none.
    """
    for exercise in exercises_of(exercise_id[:2]):
        if exercise.id == exercise_id:
            return exercise
    known = ", ".join(exercise.id for exercise in exercises_of(exercise_id[:2]))
    raise KeyError(f"no exercise {exercise_id!r}; this chapter has {known}")


def points_amiss(chapter: str) -> str | None:
    """By how much the points of a chapter's exercises miss those of a chapter, or None; drafts are not done yet."""
    if any(exercise.draft for exercise in exercises_of(chapter)):
        return None
    points = [(exercise.id, exercise.points) for exercise in exercises_of(chapter)]
    off = sum(each for _, each in points) - CHAPTER_POINTS
    if not off:
        return None
    named = ", ".join(f"{name} {each:g}" for name, each in points)
    return (
        f"the exercises of chapter {chapter} have {CHAPTER_POINTS + off:g} points in all, {abs(off):g} too "
        f"{'many' if off > 0 else 'few'}: a chapter has {CHAPTER_POINTS} ({named})"
    )
