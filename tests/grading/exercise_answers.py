"""The exercises' notebooks and their catalogues of right and wrong answers, as the tests see them.

A folder of the catalogue holds an exercise's most telling answers; `make test` judges those. Its subfolder `more` holds
the others, for `make test-exhaustive`.
"""

from collections.abc import Callable, Iterable
from functools import cache
from itertools import takewhile
from pathlib import Path

import nbformat
import pytest

from course_lib.grading.exercises import chapters, find
from course_lib.grading.rehearsal.check import CheckReport, check
from course_lib.grading.submissions import notebook

ROOT = Path(__file__).parents[2]
CATALOGUE = ROOT / "solutions" / "catalogue"
WRONG = sorted(CATALOGUE.rglob("wrong_*.py"))
RIGHT = sorted(CATALOGUE.rglob("right_*.py"))
SOLUTIONS = {chapter: next((ROOT / "solutions").glob(f"{chapter}_*.ipynb")) for chapter in chapters()}
EXERCISES = {chapter: ROOT / "exercises" / path.name for chapter, path in SOLUTIONS.items()}


def is_one_of_more(path: Path) -> bool:
    """Whether this answer is left to `make test-exhaustive`."""
    return path.parent.name == "more"


def exercise_id_of(path: Path) -> str:
    """The exercise that a file of the catalogue answers."""
    return (path.parents[1] if is_one_of_more(path) else path.parent).name


def name_of(path: Path) -> str:
    """A file of the catalogue as a test's name."""
    return f"{exercise_id_of(path)}-{path.stem}"


def as_parameters(paths: Iterable[Path]) -> list:
    """Files of the catalogue as parameters of a test, each with its name and, where it belongs, `exhaustive`."""
    return [
        pytest.param(path, id=name_of(path), marks=[pytest.mark.exhaustive] * is_one_of_more(path)) for path in paths
    ]


def expected_of(path: Path) -> tuple[str, float]:
    """The words that a wrong answer's message must contain, and the points that it keeps."""
    head = _head(path)
    return head["expect"], float(head.get("points", 0))


def kind_of(path: Path) -> str:
    """The answer whose words this one shares: its own name, or that of one with the same mistake in other clothes."""
    return _head(path).get("like", path.stem)


@cache
def _head(path: Path) -> dict[str, str]:
    """What the comments at the beginning of a wrong answer say: expect, points, like."""
    lines = takewhile(lambda line: line.startswith("# "), path.read_text(encoding="utf-8").splitlines())
    return dict(line.removeprefix("# ").split(": ", 1) for line in lines if ": " in line)


@cache
def given(chapter: str) -> str:
    """What the notebook gives to all answers of a chapter: its cells with the tag, or the id, `given`."""
    cells = nbformat.read(SOLUTIONS[chapter], as_version=4).cells
    sources = [cell.source for cell in cells if cell.id == "given" or "given" in cell.metadata.get("tags", [])]
    return "\n\n\n".join(["import torch", *sources, ""])


def cells_of(path: Path) -> list[tuple[str, str]]:
    """A submission: what the notebook gives, then this file of the catalogue, cut into cells where a line is "# %%"."""
    exercise = find(exercise_id_of(path))
    sources = path.read_text(encoding="utf-8").split("\n# %%\n")
    return notebook.cells_for(
        [(["setup"], given(exercise.chapter)), *(([], each) for each in sources)], exercise.function
    )


def answer(path: Path) -> Callable:
    """The function that a file of the catalogue defines, beside what its notebook gives."""
    exercise, names = find(exercise_id_of(path)), {"__name__": "__main__"}
    exec(compile(given(exercise.chapter), "given", "exec"), names)
    exec(compile(path.read_text(encoding="utf-8"), str(path), "exec"), names)
    return names[exercise.function]


@cache
def checked(path: Path) -> CheckReport:
    """What the check in the notebook says of a file of the catalogue; computed once."""
    return check(find(exercise_id_of(path)), answer(path))
