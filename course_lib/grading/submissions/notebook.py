"""A submission's cells, read without trust: which there are, and what each is to an exercise. Runs nothing."""

from __future__ import annotations

import re

from course_lib.desk.cells import NoNotebook, NotebookCell, cells_in
from course_lib.grading.sandbox.magics import begins_statement
from course_lib.grading.submissions.files import Unreadable
from course_lib.grading.submissions.missing import NO_CODE

__all__ = ["NO_CODE", "Cell", "cells_for", "cells_of", "defines", "places_of"]

MAX_CODE_BYTES = 1 << 20
MAX_CELLS = 2000
MAX_LISTS = 1_000_000  # and objects in a file, each of which takes some hundred bytes once it is read
MAX_TEXTS = 2_000_000  # in a file, of some sixty bytes each
MAX_VALUES = 4_000_000  # of all kinds, of up to thirty bytes each
QUOTED = re.compile(r"^[ \t]*(```|~~~).*?(?:^[ \t]*\1|\Z)", re.MULTILINE | re.DOTALL)
DEFINITION = re.compile(r"^[ \t>]*(?:async[ \t]+)?(?:def|class)[ \t]+\w", re.MULTILINE)

Cell = tuple[list[str], str]  # tags, source


def cells_of(data: bytes) -> list[Cell]:
    """The tags and source of each code cell of a notebook's file, and of each other cell that defines a function.

    The latter are no code: `cells_for` calls them so, and they only tell a student why their answer is not found.

    Raises:
        Unreadable: if it is anything else than a notebook of a reasonable size.
    """
    counts = {
        "lists": (data.count(b"[") + data.count(b"{"), MAX_LISTS),
        "texts": ((data.count(b'"') - data.count(b'\\"')) // 2, MAX_TEXTS),
        "values": (data.count(b","), MAX_VALUES),
    }
    for name, (count, most) in counts.items():
        if count > most:
            raise Unreadable(f"more than {most:,} {name}: clear the outputs and hand it in again")
    try:
        cells = [each for cell in cells_in(data) if (each := _cell(cell))]
    except NoNotebook as error:
        raise Unreadable(str(error)) from error
    if len(cells) > MAX_CELLS or sum(len(source) for _, source in cells) > MAX_CODE_BYTES:
        raise Unreadable(f"more than {MAX_CELLS} cells or {MAX_CODE_BYTES >> 20} MiB of code")
    if not any(source.strip() for _, source in cells):
        raise Unreadable("a notebook without code")
    return cells


def _cell(cell: NotebookCell) -> Cell | None:
    """Its tags and source. Of a cell of another kind the one tag says which, as no student's tag can.

    None if that defines nothing: what a page quotes between ``` is no answer.
    """
    if cell.kind == "code":
        return [tag for tag in cell.tags if not tag.startswith(NO_CODE)], cell.source
    source = QUOTED.sub("", cell.source)
    return ([NO_CODE + cell.kind], source) if DEFINITION.search(source) else None


def cells_for(cells: list[Cell], function: str) -> list[tuple[str, str]]:
    """The cells as (kind, source) for the exercise of this function.

    "setup" by its tag, "answer" where the function is defined, "other" for the rest; "no code: markdown" for what is
    no code cell, so that it is never run.
    """
    return [(_kind(tags, source, function), source) for tags, source in cells]


def _kind(tags: list[str], source: str, function: str) -> str:
    if tags[:1] and tags[0].startswith(NO_CODE):
        return tags[0]
    if defines(source, function):
        return "answer"
    return "setup" if "setup" in tags else "other"


def defines(source: str, function: str) -> bool:
    """Whether this cell defines (or assigns) a function of this name at its top level.

    >>> defines("def ring(comm): ...", "ring"), defines("ring = lambda comm: 0", "ring"), defines("ring(comm)", "ring")
    (True, True, False)
    """
    name = re.escape(function)
    made = re.compile(rf"(async\s+)?def\s+{name}\s*\(|class\s+{name}\b|{name}\s*(:[^=\n]*)?=[^=]")
    return function in source and any(made.match(line) for line in begins_statement(source))


def places_of(cells: list[tuple[str, str]]) -> str:
    """Where the function is defined, if more than one of these (kind, source) cells does it."""
    numbers = [str(number) for number, (kind, _) in enumerate(cells, 1) if kind == "answer"]
    if len(numbers) < 2:
        return ""
    return f"code cells {', '.join(numbers[:-1])} and {numbers[-1]} define it: the last one counts"
