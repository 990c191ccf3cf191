"""Reads a submission without trusting it: which cells it has, and what each is to an exercise. Runs nothing."""

from __future__ import annotations

import difflib
import hashlib
import json
import re
from pathlib import Path
from typing import Any

from course_lib.grading.sandbox.magics import begins_statement

__all__ = ["NotANotebook", "cells_for", "defines", "digest_of", "places_of", "read_cells", "similar"]

MOST_BYTES = 20 << 20  # of a file, and
MOST_CODE_BYTES = 1 << 20  # of its code
MOST_CELLS = 2000

Cell = tuple[list[str], str]  # tags, source


class NotANotebook(ValueError):
    """This file cannot be graded; says why."""


def digest_of(path: Path) -> str:
    """A fingerprint of this file's bytes; empty if it cannot be read."""
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest() if path.stat().st_size <= MOST_BYTES else ""
    except OSError:
        return ""


def read_cells(path: Path) -> list[Cell]:
    """The tags and source of each code cell.

    Raises:
        NotANotebook: if the file is anything else than a notebook of a reasonable size.
    """
    try:
        if not path.is_file():
            raise NotANotebook("not a file")
        if path.stat().st_size > MOST_BYTES:
            raise NotANotebook(f"larger than {MOST_BYTES >> 20} MiB")
        content = json.loads(path.read_text(encoding="utf-8-sig"))
        cells = [_cell(cell) for cell in content["cells"] if cell.get("cell_type") == "code"]
    except NotANotebook:
        raise
    except json.JSONDecodeError as error:
        raise NotANotebook(f"not a notebook: line {error.lineno} is no JSON; was the file cut short?") from error
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise NotANotebook(f"not a notebook ({type(error).__name__})") from error
    if len(cells) > MOST_CELLS or sum(len(source) for _, source in cells) > MOST_CODE_BYTES:
        raise NotANotebook(f"more than {MOST_CELLS} cells or {MOST_CODE_BYTES >> 20} MiB of code")
    return cells


def _cell(cell: dict[str, Any]) -> Cell:
    source = cell["source"]
    source = source if isinstance(source, str) else "".join(source)
    tags = cell.get("metadata", {}).get("tags", [])
    return [tag for tag in tags if isinstance(tag, str)], source.encode("utf-8", "replace").decode()


def cells_for(cells: list[Cell], function: str) -> list[tuple[str, str]]:
    """The cells as (kind, source) for the exercise of this function.

    "setup" by its tag, "answer" where the function is defined, "other" for the rest.
    """
    return [(_kind(tags, source, function), source) for tags, source in cells]


def _kind(tags: list[str], source: str, function: str) -> str:
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


def similar(cells: list[tuple[str, str]], function: str) -> str:
    """A function whose name is this one with a slip or an addition, if some cell defines one."""
    names = [name for _, source in cells for name in re.findall(r"^\s*def\s+(\w+)", source, re.MULTILINE)]
    longer = [name for name in names if function in name]
    return next(iter([*longer, *difflib.get_close_matches(function, names, 1, cutoff=0.85)]), "")
