"""The exercises' notebooks and their right and wrong answers, as the tests see them.

A right answer stands in the catalogue. A wrong one is a mistake of its exercise: an edit of the solution, or an answer
of the catalogue where it is none.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

from course_lib.grading.exercise import Exercise, Mistake
from course_lib.grading.exercises import chapters, exercises_of, find
from course_lib.grading.exercises.mistakes import source_of
from course_lib.grading.exercises.sources import answers_of, notebook_cells
from course_lib.grading.rehearsal import cases as one_case
from course_lib.grading.rehearsal.check import CheckReport, check
from course_lib.grading.submissions import notebook

ROOT = Path(__file__).parents[2]
SOLUTIONS = {chapter: next((ROOT / "solutions").glob(f"{chapter}_*.ipynb")) for chapter in chapters()}
EXERCISES = {chapter: ROOT / "exercises" / path.name for chapter, path in SOLUTIONS.items()}


@dataclass(frozen=True)
class Answer:
    """An answer to an exercise.

    Attributes:
        source: what a student wrote; a line "# %%" begins another cell.
        words: what its message must contain, if it is wrong; of two with the same mistake the same.
        points: what it keeps.
        by_night: whether it is left to `make test-exhaustive`.
    """

    exercise_id: str
    name: str
    source: str
    words: str = ""
    points: float = 0.0
    by_night: bool = False

    @property
    def exercise(self) -> Exercise:
        return find(self.exercise_id)

    def __str__(self) -> str:
        return f"{self.exercise_id}-{self.name}"


def _of_catalogue(path: Path) -> Iterator[Answer]:
    for kind in ("right", "right by night"):
        for name, source in answers_of(path.stem)[kind]:
            yield Answer(path.stem, f"right_{name}", source, by_night=kind == "right by night")


def _of_mistakes(exercise: Exercise) -> Iterator[Answer]:
    for number, mistake in enumerate(exercise.mistakes, 1):
        words = max(
            mistake.text.replace("}", "{").split("{")[::2], key=len
        )  # the longest that is the same in each call
        name = f"wrong_{mistake.answer}" if mistake.answer else f"mistake_{number:02}"
        yield Answer(exercise.id, name, _cells(exercise, mistake), words, mistake.points)


def _cells(exercise: Exercise, mistake: Mistake) -> str:
    """A mistake's cell; that of an edit behind the solutions of the exercises before, which it may use."""
    earlier = [source for name, source in notebook_cells(exercise.chapter) if name.endswith("-answer")]
    count = [each.id for each in exercises_of(exercise.chapter)].index(exercise.id)
    return "\n# %%\n".join([*([] if mistake.answer else earlier[:count]), source_of(exercise, mistake)])


CATALOGUE = sorted((ROOT / "solutions" / "catalogue").glob("*.py"))
RIGHT = [answer for path in CATALOGUE for answer in _of_catalogue(path)]
WRONG = [each for chapter in chapters() for exercise in exercises_of(chapter) for each in _of_mistakes(exercise)]


def as_parameters(answers: Iterable[Answer], most: int = 99) -> list:
    """Answers as parameters of a test, each with its name; `exhaustive` but for so many of an exercise by day."""
    seen: Counter[str] = Counter()
    parameters = []
    for answer in answers:
        seen[answer.exercise_id] += not answer.by_night
        by_night = answer.by_night or seen[answer.exercise_id] > most
        parameters.append(pytest.param(answer, id=str(answer), marks=[pytest.mark.exhaustive] * by_night))
    return parameters


@cache
def given(chapter: str) -> str:
    """What the notebook gives to all answers of a chapter: its imports, and its cells that are `given`."""
    sources = [source for name, source in notebook_cells(chapter) if not name.endswith("-answer")]
    return "\n\n\n".join(["import torch", *sources, ""])


def cells_of(answer: Answer) -> list[tuple[str, str]]:
    """A submission: what the notebook gives, then this answer, cut into cells where a line is "# %%"."""
    sources = answer.source.split("\n# %%\n")
    function = answer.exercise.function
    return notebook.cells_for([(["setup"], given(answer.exercise_id[:2])), *(([], each) for each in sources)], function)


def function_of(answer: Answer) -> Callable:
    """The function that an answer defines, beside what its notebook gives."""
    names = {"__name__": "__main__"}
    exec(compile(given(answer.exercise_id[:2]), "given", "exec"), names)
    exec(compile(answer.source, f"{answer}.py", "exec"), names)
    return names[answer.exercise.function]


@cache
def checked(answer: Answer) -> CheckReport:
    """What the check in the notebook says of an answer; computed once. One that does not end is ended soon."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(one_case, "LIMIT_S", 3.0)
        return check(answer.exercise, function_of(answer))
