"""Which lines of a submission run: the cells of the exercise and what they need, and nothing that only shows something.

Cells tagged `setup` and cells that define the exercise's function run statement by statement. From any other cell only
imports, functions, classes and plain constants are taken, so that a helper in a cell of its own works and an endless
loop in another exercise does not.
"""

from __future__ import annotations
import __future__

import ast
import linecache
from typing import Any

__all__ = ["CellError", "collect", "reasons"]

DEFINITIONS = (ast.Import, ast.ImportFrom, ast.FunctionDef, ast.ClassDef, ast.AsyncFunctionDef)


class CellError(Exception):
    """The submission's cells do not give the function; says why."""


def collect(cells: list[tuple[str, str]], function: str) -> tuple[Any, dict[str, str]]:
    """Execute what is needed of these (kind, source) cells.

    Returns the function of this name, and what failed in other cells, by place.

    Raises:
        CellError: if no cell defines it, or its cell cannot run.
    """
    names: dict[str, Any] = {"__name__": "__main__", "__builtins__": __builtins__}
    missing: dict[str, str] = {}  # what failed elsewhere, told if the function turns out to need it
    for number, (kind, source) in enumerate(cells, 1):
        source = "\n".join("" if line.lstrip()[:1] in ("%", "!") else line for line in source.split("\n"))
        filename = f"<code cell {number}>"
        linecache.cache[filename] = (len(source), None, source.splitlines(True), filename)
        try:
            tree = ast.parse(source, filename)
        except (SyntaxError, ValueError, MemoryError, RecursionError) as error:
            if kind == "answer":
                raise CellError(f"code cell {number} is not Python: {error}") from error
            continue
        for statement in tree.body:
            if _wanted(statement, kind):
                _execute(statement, kind, filename, names, missing)
    if not callable(names.get(function)):
        raise CellError(f"no cell defines {function}" + reasons(missing))
    return names[function], missing


def _wanted(statement: ast.stmt, kind: str) -> bool:
    if isinstance(statement, DEFINITIONS) or kind != "other":
        return True
    calls = any(isinstance(node, (ast.Call, ast.Await)) for node in ast.walk(statement))
    return isinstance(statement, (ast.Assign, ast.AnnAssign)) and not calls


def _execute(statement: ast.stmt, kind: str, filename: str, names: dict[str, Any], missing: dict[str, str]) -> None:
    """Run one statement. What fails outside of definitions in the answer's cell is only noted."""
    code = compile(ast.Module([statement], []), filename, "exec", __future__.annotations.compiler_flag)
    try:
        exec(code, names)
    except TimeoutError:
        raise
    except Exception as error:
        text = f"{type(error).__name__}: {error}"
        if kind == "answer" and isinstance(statement, (ast.FunctionDef, ast.ClassDef)):
            raise CellError(f"{filename[1:-1]}, line {statement.lineno}: {text}") from error
        missing[f"{filename[1:-1]}, line {statement.lineno}"] = text


def reasons(missing: dict[str, str]) -> str:
    """What failed elsewhere, as the end of a sentence."""
    return "".join(f"; {place}: {text}" for place, text in list(missing.items())[:3])
