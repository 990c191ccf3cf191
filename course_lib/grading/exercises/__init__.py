"""The exercises of each chapter: `chapter_02.EXERCISES` and so on. They hold expected results, no solutions."""

from __future__ import annotations

import importlib
import pkgutil

from course_lib.grading.exercise import Exercise

__all__ = ["chapters", "exercises_of", "find"]


def chapters() -> list[str]:
    """The chapters that have exercises, as two digits each."""
    names = [module.name for module in pkgutil.iter_modules(__path__)]
    return sorted(name.removeprefix("chapter_") for name in names if name.startswith("chapter_"))


def exercises_of(chapter: str) -> tuple[Exercise, ...]:
    """The exercises of a chapter, in order.

    Raises:
        KeyError: if the chapter has none.
    """
    if chapter not in chapters():
        raise KeyError(f"chapter {chapter!r} has no exercises; those with exercises: {', '.join(chapters())}")
    return importlib.import_module(f"{__name__}.chapter_{chapter}").EXERCISES


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
