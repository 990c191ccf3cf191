"""A submission's cells, read without trust: which there are, and what each is to an exercise. Runs nothing."""

from __future__ import annotations

import difflib
import json
import re
from typing import Any

from course_lib.grading.sandbox.magics import begins_statement
from course_lib.grading.submissions.files import Unreadable

__all__ = ["Cell", "cells_for", "cells_of", "defines", "places_of", "similar"]

MAX_CODE_BYTES = 1 << 20
MAX_CELLS = 2000
MAX_LISTS = 1_000_000  # and objects in a file, each of which takes some hundred bytes once it is read
MAX_TEXTS = 2_000_000  # in a file, of some sixty bytes each
MAX_VALUES = 4_000_000  # of all kinds, of up to thirty bytes each
MAX_NAMES = 2000  # of functions to compare one with
MAX_NAME_LENGTH = 80

Cell = tuple[list[str], str]  # tags, source


def cells_of(data: bytes) -> list[Cell]:
    """The tags and source of each code cell of a notebook's file.

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
        content = json.loads(data.decode("utf-8-sig"))
        cells = [_cell(cell) for cell in content["cells"] if cell.get("cell_type") == "code"]
    except json.JSONDecodeError as error:
        raise Unreadable(f"not a notebook: line {error.lineno} is no JSON; was the file cut short?") from error
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise Unreadable(f"not a notebook ({type(error).__name__})") from error
    if len(cells) > MAX_CELLS or sum(len(source) for _, source in cells) > MAX_CODE_BYTES:
        raise Unreadable(f"more than {MAX_CELLS} cells or {MAX_CODE_BYTES >> 20} MiB of code")
    if not any(source.strip() for _, source in cells):
        raise Unreadable("a notebook without code")
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
    made = re.compile(r"[ \t]*(?:async[ \t]+)?def[ \t]+(\w+)")
    found = [made.match(line) for _, source in cells for line in source.split("\n")]
    names = [match[1] for match in found if match and len(match[1]) <= MAX_NAME_LENGTH][:MAX_NAMES]
    longer = [name for name in names if function in name]
    return next(iter([*longer, *difflib.get_close_matches(function, names, 1, cutoff=0.85)]), "")
