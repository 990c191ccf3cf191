"""The questions of a chapter that most of a class guessed wrong: what to begin its next lecture with.

Guesses stand on the pages of a desk, so only those count who handed in a whole one. They are read where they were
graded, without trust: of a page that is too large, a link or no notebook there is no guess.
"""

from __future__ import annotations

import contextlib
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from html import escape
from pathlib import Path

from course_lib.desk import DeskError, outline
from course_lib.desk.cells import NoNotebook, cells_in
from course_lib.desk.files import course_folder
from course_lib.desk.guesses import judged, questions_of
from course_lib.grading.reports.page import table
from course_lib.grading.submissions.files import Unreadable, read
from course_lib.grading.submissions.folder import Graded

MOST = 3  # questions of a chapter
MARKS = re.compile(r"\*+|`|<[^>]*>")


def wrong_guesses(by_student: Mapping[str, Sequence[Graded]]) -> str:
    """For each chapter that somebody guessed in, the three questions that most got wrong; the last chapter stands open.

    HTML; empty if nobody handed in a desk with guesses, or the course's own pages are not here.
    """
    try:
        chapters = outline()
    except DeskError:
        return ""
    desks = {student: set(_desks(handed_in)) for student, handed_in in by_student.items()}
    parts: list[str] = []
    for chapter in reversed(chapters):
        found = [_guesses(those, Path(chapter.page)) for those in desks.values()]
        guessed = Counter(name for one in found for name in one)
        wrong = Counter(name for one in found for name, right in one.items() if not right)
        if not guessed:
            continue
        title = f"Chapter {chapter.number}, {escape(chapter.title)}: {sum(map(bool, found))} with guesses"
        rows = _table(Path(chapter.page), guessed, wrong)
        parts.append(f"<details{'' if parts else ' open'}><summary>{title}</summary>{rows}</details>")
    return "\n".join(parts)


def _desks(handed_in: Iterable[Graded]) -> Iterator[Path]:
    """The desks that these notebooks lie on."""
    for one in handed_in:
        folder = Path(one.notebook).parent
        if folder.name == "exercises" and (folder.parent / "notebooks").is_dir():
            yield folder.parent


def _guesses(desks: Iterable[Path], page: Path) -> dict[str, bool]:
    """Which of a student's guesses on this page were right, by question; of several desks any one counts."""
    found: dict[str, bool] = {}
    for desk in sorted(desks):
        with contextlib.suppress(NoNotebook, Unreadable):
            found = judged(page.stem, cells_in(read(desk / page)[0])) | found
    return found


def _table(page: Path, guessed: Counter[str], wrong: Counter[str]) -> str:
    """A row for each of the three, most often wrong first; a sentence if nobody was wrong."""
    if not wrong:
        return "<p>All guesses were right.</p>"
    cells = {cell.id: cell.source for cell in cells_in((course_folder() / page).read_bytes())}
    order = sorted(wrong, key=lambda name: (-wrong[name], guessed[name]))[:MOST]
    rows = [
        (
            _question(cells.get(name, name)),
            escape(f"{questions_of(page.stem)[name].right}"),
            f"{wrong[name]} of {guessed[name]}",
        )
        for name in order
    ]
    return table(["question", "right is", "guessed wrong"], rows, numbers=[2])


def _question(source: str) -> str:
    """The question in a cell, without marks of Markdown."""
    _, mark, asked = source.rpartition("**Question.**")
    words = (asked if mark else source).replace("**Prediction.**", " ").strip().partition("\n\n")[0]
    return escape(" ".join(MARKS.sub("", words).split()))
