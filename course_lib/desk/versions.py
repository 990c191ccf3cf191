"""What of a notebook its author wrote: by this two versions are compared, whatever has been run in them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from course_lib.desk.cells import source_of, tags_of
from course_lib.desk.files import DeskError
from course_lib.desk.folds import fold_code, fold_results
from course_lib.desk.guesses import is_guess, with_places

__all__ = ["bare", "course_files", "course_notebook", "fingerprint", "has_outputs"]

FOLDERS = ("notebooks", "exercises")
WAY_TO_START = "[Start page](../START.md)"


def course_files(course: Path) -> Iterator[Path]:
    """The files of the course that lie on a desk, relative to the course's folder, in order."""
    for folder in FOLDERS:
        for path in sorted((course / folder).rglob("*")):
            inner = path.relative_to(course)
            if path.is_file() and not any(part.startswith((".", "__")) for part in inner.parts):
                yield inner


def course_notebook(path: Path) -> dict[str, Any]:
    """A notebook of the course.

    Raises:
        DeskError: if it is none, as after a merge with conflicts.
    """
    try:
        notebook = json.loads(path.read_text(encoding="utf-8"))
        notebook["cells"][0]["source"]
    except (IndexError, KeyError, TypeError, ValueError) as error:
        raise DeskError(f"{path} cannot be read as a notebook ({error}): what does `git status` say of it?") from error
    return notebook


def bare(path: Path) -> str:
    """The text of a notebook without outputs and counts of runs, in the normal form.

    It has a way to the start page and places for guesses. Folded are results, and code that only draws or sets up.
    """
    notebook = course_notebook(path)
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            cell["outputs"], cell["execution_count"] = [], None
            fold_code(cell)
    first = notebook["cells"][0]
    if first["cell_type"] == "markdown":
        title, _, rest = "".join(first["source"]).partition("\n\n")
        between = " · " if rest.startswith("[") else "\n\n"
        first["source"] = f"{title}\n\n{WAY_TO_START}{between}{rest}".splitlines(keepends=True)
    fold_results(notebook["cells"])
    notebook["cells"] = with_places(notebook["cells"], path.stem)
    return json.dumps(notebook, indent=1, ensure_ascii=False, sort_keys=True) + "\n"


def fingerprint(name: str, text: str) -> str:
    """The same for two versions in which an author wrote the same. Of what is no notebook, every character counts.

    A notebook's author writes cells: their kinds, sources, tags and attached pictures. Guesses are nobody's version.
    """
    cells = _cells(name, text)
    written = (
        text if cells is None else json.dumps([_written(cell) for cell in cells if not is_guess(cell)], sort_keys=True)
    )
    return hashlib.sha256(written.encode("utf-8", "surrogatepass")).hexdigest()


def has_outputs(name: str, text: str) -> bool:
    """Whether a cell of the notebook shows what it did."""
    return any(cell.get("outputs") for cell in _cells(name, text) or [])


def _cells(name: str, text: str) -> list[dict[str, Any]] | None:
    """The cells of a notebook; None if it is none, or cannot be read."""
    if not name.endswith(".ipynb"):
        return None
    try:
        cells = json.loads(text.removeprefix("\ufeff"))["cells"]
        return cells if all(isinstance(cell, dict) for cell in cells) else None
    except (KeyError, RecursionError, TypeError, ValueError):
        return None


def _written(cell: dict[str, Any]) -> list[Any]:
    return [cell.get("cell_type"), source_of(cell), sorted(tags_of(cell)), cell.get("attachments") or {}]
