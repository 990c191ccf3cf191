"""Cells of a notebook in any format that Jupyter opens, read without trust; and which cell defines an undefined name.

One odd cell costs no other. This is not nbformat, which takes a quarter of a second to load, refuses a whole notebook
for one cell, and runs its checks on what a stranger wrote.
"""

from __future__ import annotations

import ast
import json
import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple

OTHER_FILES = {
    rb"PK": "a zip archive under a notebook's name: unpack it",
    rb"%PDF": "a PDF under a notebook's name: the notebook itself is wanted",
    rb"(\xef\xbb\xbf)?\s*<[!?\w]": "a web page under a notebook's name: download the notebook itself",
}
CONFLICT = b"<<<<<<< "


class NoNotebook(ValueError):
    """These bytes are no notebook; says why, in words that whoever wrote it understands."""


class NotebookCell(NamedTuple):
    """What a cell says, whatever it lacks.

    Attributes:
        kind: "code", "markdown", "raw", or whatever its file says.
        count: the number of its last run; None if it has none.
        id: its name within the notebook; empty if it has none, as before format 4.5.
    """

    kind: str
    source: str
    tags: list[str]
    count: Any
    id: str = ""


def cells_in(data: bytes) -> list[NotebookCell]:
    """The cells of the notebook in these bytes, in order: of formats 1 to 4, whatever a cell lacks.

    Raises:
        NoNotebook: if they hold something else, or were cut short.
    """
    content = _json(data)
    if not isinstance(content, dict):
        raise NoNotebook("not a notebook: it is JSON of another kind")
    sheets = [content, *_list(content.get("worksheets"))]
    those = [sheet["cells"] for sheet in sheets if isinstance(sheet, dict) and isinstance(sheet.get("cells"), list)]
    if not those:
        raise NoNotebook("not a notebook: it has no list of cells")
    return [_cell(cell) for cells in those for cell in cells if isinstance(cell, dict)]


def _json(data: bytes) -> Any:
    for begins, what in OTHER_FILES.items():
        if re.match(begins, data):
            raise NoNotebook(f"not a notebook, but {what}")
    try:
        encoding = json.detect_encoding(data)
        return json.loads(data.decode(encoding))
    except json.JSONDecodeError as error:
        why = "two versions were merged and not reconciled" if CONFLICT in data else "was the file cut short"
        raise NoNotebook(f"not a notebook: line {error.lineno} is no JSON; {why}?") from error
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise NoNotebook(f"not a notebook: a letter in line {line} is not in UTF-8; save it as UTF-8") from error
    except RecursionError as error:
        raise NoNotebook("not a notebook: lists within lists, deeper than any notebook has") from error
    except ValueError as error:  # of a number with thousands of digits
        raise NoNotebook("not a notebook: it has a number that is too long to read") from error


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _texts(value: Any) -> list[str]:
    return [each for each in _list(value) if isinstance(each, str)]


def source_of(cell: dict[str, Any]) -> str:
    """What this cell says; nothing if that is no text."""
    return next(filter(None, _sources(cell)), "").encode("utf-8", "replace").decode()


def tags_of(cell: dict[str, Any]) -> list[str]:
    """The tags of this cell; none if it has no proper ones."""
    metadata = cell.get("metadata")
    return _texts(metadata.get("tags")) if isinstance(metadata, dict) else []


def _cell(cell: dict[str, Any]) -> NotebookCell:
    kind = cell.get("cell_type", "code" if "execution_count" in cell or "outputs" in cell else "")
    kind = kind if isinstance(kind, str) and kind.isalpha() else "nameless"
    count, name = cell.get("execution_count", cell.get("prompt_number")), cell.get("id")
    return NotebookCell(kind, source_of(cell), tags_of(cell), count, name if isinstance(name, str) else "")


def _sources(cell: dict[str, Any]) -> Iterator[str]:
    """What it says, under the names of formats 4, 3 and 2, and 1; format 3 once wrote lines without their ends."""
    for name in ("source", "input", "code", "text"):
        lines = _texts(cell.get(name))
        without_ends = name == "input" and lines and not lines[0].endswith(("\n", "\r"))
        yield cell[name] if isinstance(cell.get(name), str) else ("\n" if without_ends else "").join(lines)


def explain_name_errors() -> None:
    """From now on this kernel says below a NameError which cell of the notebook makes the name."""
    from IPython import get_ipython

    get_ipython().set_custom_exc((NameError,), _explain)


def _explain(
    shell: Any, kind: type[NameError], error: NameError, traceback: TracebackType, tb_offset: int | None = None
) -> None:
    shell.showtraceback((kind, error, traceback), tb_offset=tb_offset)
    notebook = Path(os.environ.get("JPY_SESSION_NAME", ""))  # set by Jupyter's server, which may look from elsewhere
    if error.name and error.name not in shell.user_ns:
        there = notebook if notebook.is_file() else Path(notebook.name)
        print(who_makes(error.name, there), end="", file=sys.stderr)


def who_makes(name: str, notebook: Path) -> str:
    """A sentence about the first cell that makes this name; empty if none does, or the file is no notebook.

    Cells are counted among those with code, as a student counts them who looks for the brackets.
    """
    try:
        cells = cells_in(notebook.read_bytes())
    except (OSError, NoNotebook):
        return ""
    code = [cell for cell in cells if cell.kind == "code"]
    makes = (number for number, cell in enumerate(code, 1) if name in set(_made_by(cell.source)))
    number = next(makes, 0)
    return _sentence(name, number, code[number - 1]) if number else ""


def _sentence(name: str, number: int, cell: NotebookCell) -> str:
    which = "the set-up cell" if "setup" in cell.tags else "a cell"
    what = f"{which} of this notebook makes it, code cell {number}"
    return f"{name} is not there: {what}. Run that first; Run, Run All Above Selected Cell runs all that stand above.\n"


def _made_by(source: str) -> Iterator[str]:
    """The names that a cell's own statements bind; none if it is not plain Python."""
    try:
        waiting: list[ast.AST] = [ast.parse(source)]
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return
    while waiting:
        node = waiting.pop()
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                yield name
            case ast.Import(names=names) | ast.ImportFrom(names=names):
                yield from (each.asname or each.name.partition(".")[0] for each in names)
            case ast.Name(id=name, ctx=ast.Store()):
                yield name
            case ast.Lambda() | ast.ListComp() | ast.SetComp() | ast.DictComp() | ast.GeneratorExp():
                pass
            case _:
                waiting += ast.iter_child_nodes(node)
