"""A name that is not there yet: which cell of the notebook makes it, so that a student knows what to run first."""

from __future__ import annotations

import ast
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Any

from course_lib.desk.cells import NoNotebook, NotebookCell, cells_in

__all__ = ["explain_name_errors", "who_makes"]


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
