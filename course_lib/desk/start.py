"""The start page: the chapters, the exercises, the student's points and the next step, written anew as these change.

It is written when a check gave points, and as a hook (`after_save`) when a page of a desk is saved in Jupyter. `make
lab` names that to the server, which calls it in its only thread. So the writing has a thread of its own, and whatever
goes wrong there is a line in the server's log and costs no save.
"""

from __future__ import annotations

import hashlib
import logging
import re
import threading
from collections.abc import Callable, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from course_lib.desk.cells import NoNotebook, NotebookCell, cells_in
from course_lib.desk.contents import ChapterOutline, ExerciseOutline, outline
from course_lib.desk.files import DeskError, locked, write_whole
from course_lib.desk.guesses import SUFFIX, guess_in, judged
from course_lib.desk.points import POINTS, KeptPoints, desk_around, kept_points

START = "START.md"
# Begins the page's last line; behind it, a digest of the page tells it from one that the student has changed.
SEAL = "\n<!-- written by the course: "

PAGE = """# Start here

**Next: [{words}]({link}).**{needs} You have {points:g} of {of:g} points so far, as of {as_of}.

This page is written anew whenever you save another or check an answer. If an older one stands here, choose
*File*, *Reload Markdown File from Disk*.

{table}

{newer}*Time* is a guess, first for the page, then for its exercises: {guess}.
*Cells run* counts the code cells that you have run and saved, *guesses* those that were right, of those that name one
of the choices; each counts once you have run the code below it. *More* is for who wants it, and is not counted.

**Points** are what `check` said in your exercises, the most so far; *now* is the last time, where that was less. They
stay on this desk, and nobody else sees them. A grade is another matter: your teacher runs `course grade` on the
notebook that you hand in, with numbers that nobody has seen before.

**Guess first.** Below each prediction is a place for your guess: choose or write there before you run the next cell.

**This desk is yours.** Change whatever you like. When the course changes, `make lab` brings what you have not touched
up to date; what you have changed or run stays, and the newer version lies beside it under another name. To get a page
as the course has it, rename or delete yours and start again. Only this start page is written anew. In a terminal,
`course progress` shows the same.

**An assistant** that writes code finds this desk's rules in [AGENTS.md](AGENTS.md): give hints, and no solutions.

By keyboard: <kbd>Shift</kbd>+<kbd>Enter</kbd> runs a cell, <kbd>Esc</kbd> leaves it, arrows move from cell to cell,
<kbd>Enter</kbd> opens one for writing, <kbd>Ctrl</kbd>+<kbd>S</kbd> saves. The [glossary](notebooks/glossary.md) has
every term, and [Symptoms](notebooks/symptoms.md) what to look at when a run of your own hangs, dies or is wrong.
"""
PLAIN = re.compile(r"[\w-]+")  # an id that needs no escaping in a link
DONE = 0.9  # of a page's cells: one or two may be for another machine
GUESS = "150 words a minute, a minute for each cell of code and each prediction, five for each point"
COLUMNS = ("chapter", "needs", "time", "cells run", "guesses", "exercises", "points")


def write_start_page(desk: Path, course: Path | None = None) -> str:
    """Write the start page anew; returns a sentence if the student had written one of their own, else nothing.

    Raises:
        DeskError: if the points cannot be read, or somebody else holds the desk.
        OSError: if it cannot be written.
    """
    chapters, said = outline(course), ""
    with locked(desk):
        page = desk / START
        if page.exists() and not _ours(page):
            names = (desk / f"START.yours{number}.md" for number in ("", *(f"-{each}" for each in range(2, 100))))
            kept = next(name for name in names if not name.exists())
            page.rename(kept)
            said = f"what you wrote into {START} is in {kept.name}"
        text = start_page(desk, chapters, kept_points(desk), f"{datetime.now():%Y-%m-%d, %H:%M}")
        write_whole(desk, page, text + SEAL + _digest(text) + " -->\n")
    return said


def start_page(desk: Path, chapters: Sequence[ChapterOutline], kept: dict[str, KeptPoints], as_of: str) -> str:
    """The start page's text, in Markdown; `as_of` says when that was, for a page that is open does not follow."""
    words, link = next_step(desk, chapters, kept)
    rows = table_rows(desk, chapters, kept, "[{}]({})".format)
    table = [COLUMNS, (":--", ":--", "--:", "--:", "--:", ":--", "--:"), *rows]
    of = sum(chapter.points for chapter in chapters)
    beside = [path.relative_to(desk).as_posix() for path in sorted(desk.glob("*/*.newer*"))]
    newer = f"**Newer versions** lie beside pages that you have changed: {', '.join(map('[{0}]({0})'.format, beside))}."
    return PAGE.format(
        newer=(f"{newer}\n\n" if beside else ""),
        words=words,
        link=link,
        needs=_unread_needs(desk, chapters, kept, link),
        points=points_kept(chapters, kept),
        of=of,
        as_of=as_of,
        table="\n".join(f"| {' | '.join(row)} |" for row in table),
        guess=GUESS,
    )


def next_step(desk: Path, chapters: Sequence[ChapterOutline], kept: dict[str, KeptPoints]) -> tuple[str, str]:
    """What to do now, and where: go on where one was, then the exercises there, then the next chapter.

    One was at the page or the exercises that were saved last with a cell run or a guess, or checked last. A page is
    done if nine in ten of its cells have been run, or a check was made in its exercises. At the end comes what was
    skipped.
    """
    here, at_exercises = _where_one_was(desk, chapters, kept)
    for number, chapter in enumerate([*chapters[here:], *chapters[:here]]):
        words = "skipped: " if number >= len(chapters) - here else ""
        if not (number == 0 and at_exercises) and not _is_done(desk, chapter, kept):
            begun, place = _where_on_page(desk, chapter)
            return f"{'go on with ' if begun else words}chapter {chapter.number}, {chapter.title}", place
        for exercise in chapter.exercises:
            if not _full(exercise, kept):
                return f"{words}exercise {exercise.id}, {exercise.title}", _place(chapter, exercise)
    return "nothing, because you have done all exercises", chapters[here].page


def _where_one_was(desk: Path, chapters: Sequence[ChapterOutline], kept: dict[str, KeptPoints]) -> tuple[int, bool]:
    """The place of the chapter in this list in which something was done last, and whether in its exercises."""
    saved = [(0.0, 0, False)]
    checked = next(reversed(kept), "")
    for number, chapter in enumerate(chapters):
        for page, exercises in ((chapter.page, False), (chapter.exercises_page, True)):
            cells = _read(desk, page)[0] if page else []
            if any(_is_work(cell) for cell in cells):
                saved.append(((desk / page).stat().st_mtime, number, exercises))
        if any(each.id == checked for each in chapter.exercises):
            saved.append(((desk / POINTS).stat().st_mtime, number, True))
    return max(saved)[1:]


def _is_work(cell: NotebookCell) -> bool:
    is_place = cell.kind == "markdown" and cell.id.endswith(SUFFIX)
    return cell.count is not None or (is_place and guess_in(cell.source) != "")


def _is_done(desk: Path, chapter: ChapterOutline, kept: dict[str, KeptPoints]) -> bool:
    run, cells = cells_run(desk, chapter)
    return not chapter.cells or run >= DONE * cells or any(each.id in kept for each in chapter.exercises)


def _where_on_page(desk: Path, chapter: ChapterOutline) -> tuple[bool, str]:
    """Whether the chapter's page was begun, and the place of the last cell of it that was run."""
    run = [cell for cell in _read(desk, chapter.page)[0] if cell.kind == "code" and cell.count is not None]
    known = next((cell.id for cell in reversed(run) if PLAIN.fullmatch(cell.id)), "")
    return bool(run), f"{chapter.page}#cell-id={known}" if known else chapter.page


def _unread_needs(desk: Path, chapters: Sequence[ChapterOutline], kept: dict[str, KeptPoints], link: str) -> str:
    """A sentence about what the chapter of this place builds on and was not read; empty if there is nothing."""
    needs = next((each.needs for each in chapters if link.startswith((each.page, each.exercises_page or " "))), ())
    unread = [each for each in chapters if each.number in needs and not _is_done(desk, each, kept)]
    links = ", ".join(f"[{each.number} {each.title}]({each.page})" for each in unread)
    return f" It builds on what you have not read yet: {links}." if unread else ""


def cells_run(desk: Path, chapter: ChapterOutline) -> tuple[int, int]:
    """How many code cells of the chapter's page have been run on this desk, and how many there are.

    An empty one, such as JupyterLab adds below the last, is none. Of a page in which no
    code can be seen (its file is gone or cut short) none of one has been run: it is not done.
    """
    return _counted(desk, chapter) or (0, 1)


def unread_pages(desk: Path, chapters: Sequence[ChapterOutline]) -> list[str]:
    """The chapters' pages on this desk that cannot be read, and why."""
    found = {chapter.page: _read(desk, chapter.page)[1] for chapter in chapters}
    return [
        f"{page} cannot be read: {why}. Rename it, and `make lab` lays a new one" for page, why in found.items() if why
    ]


def _counted(desk: Path, chapter: ChapterOutline) -> tuple[int, int] | None:
    """What `cells_run` says if there is code to be seen."""
    code = [cell for cell in _read(desk, chapter.page)[0] if cell.kind == "code" and cell.source.strip()]
    return (sum(cell.count is not None for cell in code), len(code)) if code else None


def _read(desk: Path, page: str) -> tuple[list[NotebookCell], str]:
    """The cells of this page on the desk, and what keeps it from being read, if something does."""
    try:
        return cells_in((desk / page).read_bytes()), ""
    except FileNotFoundError:
        return [], ""
    except OSError as error:
        return [], error.strerror or str(error)
    except NoNotebook as error:
        return [], str(error)


def guesses_right(desk: Path, chapter: ChapterOutline) -> str:
    """How many guesses on this chapter's page were right, of those that count by now; empty if none does."""
    found = judged(Path(chapter.page).stem, _read(desk, chapter.page)[0])
    return f"{sum(found.values())} of {len(found)}" if found else ""


def hours(minutes: float) -> str:
    r"""A guessed time, to the half hour, that no line break parts from its unit.

    >>> hours(100), hours(74), hours(20)
    ('1½\xa0h', '1\xa0h', '½\xa0h')
    """
    halves = max(1, round(minutes / 30))
    return f"{halves // 2 or ''}{'½' if halves % 2 else ''}\N{NO-BREAK SPACE}h"


def table_rows(
    desk: Path, chapters: Sequence[ChapterOutline], kept: dict[str, KeptPoints], link: Callable[[str, str], str]
) -> list[tuple[str, ...]]:
    """A row for each chapter, in the columns of `COLUMNS`; `link` makes one of words and a place."""
    rows: list[tuple[str, ...]] = []
    for chapter in chapters:
        time = hours(chapter.minutes)
        marks = ""
        points = ""
        if chapter.exercises:
            time += f" + {hours(chapter.exercise_minutes)}".replace(" ", "\N{NO-BREAK SPACE}")
            links = [link(each.id[2:], _place(chapter, each)) + _mark(each, kept) for each in chapter.exercises]
            marks = " ".join(links)
            points = f"{points_kept([chapter], kept):g} of {chapter.points:g}"
        run, cells = _counted(desk, chapter) or (0, chapter.cells)
        name = link(f"{chapter.number} {chapter.title}", chapter.page)
        if chapter.more:
            name += f" ({link('more', chapter.more)})"
        right = guesses_right(desk, chapter)
        rows.append((name, ", ".join(chapter.needs), time, f"{run} of {cells}", right, marks, points))
    return rows


def points_kept(chapters: Sequence[ChapterOutline], kept: dict[str, KeptPoints]) -> float:
    """The sum of the points of these chapters' exercises."""
    exercises = [each for chapter in chapters for each in chapter.exercises if each.id in kept]
    return sum(min(kept[each.id].most, each.points) for each in exercises)


def _place(chapter: ChapterOutline, exercise: ExerciseOutline) -> str:
    return f"{chapter.exercises_page}#{exercise.id[2:]}"


def _mark(exercise: ExerciseOutline, kept: dict[str, KeptPoints]) -> str:
    """✓ for full points, else how many of how many, and what a later check gave if less; nothing before the first."""
    if exercise.id not in kept:
        return ""
    points = kept[exercise.id]
    mark = "✓" if _full(exercise, kept) else f"{points.most:g}/{exercise.points:g}"
    later = f" (now {points.last:g})" if points.last < points.most else ""
    return f" {mark}{later}".replace(" ", "\N{NO-BREAK SPACE}")


def _full(exercise: ExerciseOutline, kept: dict[str, KeptPoints]) -> bool:
    return exercise.id in kept and kept[exercise.id].most >= exercise.points


def _ours(page: Path) -> bool:
    try:
        text, _, seal = page.read_text(encoding="utf-8").rpartition(SEAL)
    except (OSError, UnicodeDecodeError):
        return False
    return seal == f"{_digest(text)} -->\n"


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]


LOG = logging.getLogger(__name__)


def after_save(os_path: str, model: dict[str, Any], **_: Any) -> threading.Thread | None:
    """Write the start page of the desk that this saved notebook lies on; gives the thread that does so, if one does."""
    desk = desk_around(Path(os_path).parent) if model.get("type") == "notebook" else None
    if desk is None:
        return None
    thread = threading.Thread(target=_write, args=(desk,), daemon=True, name="start page")
    thread.start()
    return thread


def _write(desk: Path) -> None:
    try:
        said = write_start_page(desk)
    except (DeskError, OSError) as error:
        said = f"the start page could not be written: {error}"
    if said:
        LOG.warning(said)
