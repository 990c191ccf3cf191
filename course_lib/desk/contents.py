"""The chapters and their exercises, with the time that they take and what each needs, read off the pages themselves."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from course_lib.desk.files import course_folder
from course_lib.desk.versions import course_notebook

# What a page takes, in minutes: 150 words a minute, one for each cell of code and for each prediction.
WORDS_PER_MINUTE = 150
MINUTES_PER_POINT = 5
MORE = "_more"  # ends the name of a chapter's second page
ROW = re.compile(r"^\| \[([a-z])\]\(#\1\) \| (.*?) \| ([\d.]+) \|", re.MULTILINE)


@dataclass(frozen=True)
class ExerciseOutline:
    """An exercise as its page's table has it."""

    id: str
    title: str
    points: float


@dataclass(frozen=True)
class ChapterOutline:
    """A chapter: its page and its exercises' page (relative to the course's folder), and the chapters that it needs.

    `cells` is how many code cells its page has; `more` is a page of sections that nobody has to read, if there is one.
    """

    number: str
    title: str
    page: str
    needs: tuple[str, ...]
    minutes: float
    cells: int = 0
    exercises_page: str = ""
    exercises: tuple[ExerciseOutline, ...] = ()
    more: str = ""

    @property
    def points(self) -> float:
        """Points of all its exercises."""
        return sum(exercise.points for exercise in self.exercises)

    @property
    def exercise_minutes(self) -> float:
        """About so many minutes for all its exercises."""
        return MINUTES_PER_POINT * self.points


def outline(course: Path | None = None) -> list[ChapterOutline]:
    """All chapters that have a page, in order.

    >>> [chapter.needs for chapter in outline()][:3]
    [(), ('00',), ('00', '01')]
    """
    course = course or course_folder()
    pages = sorted((course / "notebooks").glob("[0-9][0-9]_*.ipynb"))
    return [_chapter(course, page) for page in pages if not page.stem.endswith(MORE)]


def _chapter(course: Path, page: Path) -> ChapterOutline:
    cells = course_notebook(page)["cells"]
    first, number = _source(cells[0]), page.name[:2]
    opening = "\n".join(_source(cell) for cell in cells[:5] if cell["cell_type"] == "markdown")
    needs = re.search(r"(?:\*\*You need\*\*|^You need) (.*?)\.(?:\s|$)", opening, re.DOTALL | re.MULTILINE)
    words = " ".join(_source(cell) for cell in cells if cell["cell_type"] == "markdown")
    code = sum(cell["cell_type"] == "code" for cell in cells)
    minutes = len(words.split()) / WORDS_PER_MINUTE + code + words.count("**Prediction.**")
    at = next((course / "exercises").glob(f"{number}_*.ipynb"), None)
    return ChapterOutline(
        number,
        first.partition("\n")[0].rpartition("· ")[2],
        f"notebooks/{page.name}",
        tuple(sorted(set(re.findall(r"\b\d\d\b", needs[1])))) if needs else (),
        minutes,
        code,
        f"exercises/{at.name}" if at else "",
        _exercises(number, at) if at else (),
        f"notebooks/{number}{MORE}.ipynb" if page.with_name(f"{number}{MORE}.ipynb").exists() else "",
    )


def _exercises(number: str, page: Path) -> tuple[ExerciseOutline, ...]:
    rows = ROW.findall(_source(course_notebook(page)["cells"][0]))
    return tuple(ExerciseOutline(number + letter, title, float(points)) for letter, title, points in rows)


def _source(cell: dict[Any, Any]) -> str:
    return "".join(cell["source"])
