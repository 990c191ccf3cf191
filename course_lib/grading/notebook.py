"""Reads a submission without trusting it: which cells it has, and what each is to an exercise. Runs nothing."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

__all__ = ["NotANotebook", "cells_for", "read_cells"]

MOST_BYTES = 20 << 20  # of a file, and
MOST_CODE_BYTES = 1 << 20  # of its code
MOST_CELLS = 2000

Cell = tuple[list[str], str]  # tags, source


class NotANotebook(ValueError):
    """This file cannot be graded; says why."""


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
    return (
        re.search(rf"^(def\s+{re.escape(function)}\s*\(|{re.escape(function)}\s*=[^=])", source, re.MULTILINE)
        is not None
    )
