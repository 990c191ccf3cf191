"""Runs a submission's cells as far as a function needs them, and notes what fails on the way."""

from __future__ import annotations
import __future__

import ast
import linecache
import re
import types
from typing import Any

from .magics import as_python
from .needed import Statement, needed, statements

__all__ = ["CellError", "Missing", "collect", "reasons", "refuse_unrun", "shortened"]

ANNOTATIONS = __future__.annotations.compiler_flag

Cells = list[tuple[str, str]]  # kind and source; the kind "answer" says that the cell defines the function
Missing = list[tuple[str, str, str]]  # what could not run: where, why, and its source


class CellError(Exception):
    """The submission's cells do not give the function; says why."""


def collect(cells: Cells, function: str) -> tuple[Any, Missing]:
    """Execute what this function needs of these cells.

    Returns the function, and what failed, to be told if the function turns out to need it.

    Raises:
        CellError: if no cell defines it, or its cell cannot run.
    """
    names: dict[str, Any] = {"__name__": "__main__", "__builtins__": __builtins__}
    found, missing = _read(cells)
    for one in needed(found, function):
        _execute(one, names, missing)
    if callable(names.get(function)):
        return names[function], missing
    answers = {_place(number) for number, (kind, _) in enumerate(cells, 1) if kind == "answer"}
    broken = [f"{place}: {text}" for place, text, _ in missing if place.split(",")[0] in answers]
    if broken:
        raise CellError(broken[0].replace(": it is not", " is not", 1))
    raise CellError(f"no cell defines {function}" + reasons(missing, function))


def shortened(cells: Cells, function: str) -> Cells:
    """These cells with nothing in them but what the function needs, each statement on the line where it was.

    A cell that is not Python stays as it is.
    """
    found, missing = _read(cells)
    lines: dict[str, set[int]] = {}
    for one in needed(found, function):
        heads = [one.tree, *getattr(one.tree, "decorator_list", [])]
        last = one.tree.end_lineno or 0
        lines.setdefault(one.place, set()).update(range(min(each.lineno for each in heads), last + 1))
    broken = {place for place, _, _ in missing}
    return [
        (kind, source if _place(number) in broken else _only(source, lines.get(_place(number), set())))
        for number, (kind, source) in enumerate(cells, 1)
    ]


def _only(source: str, numbers: set[int]) -> str:
    """These lines of a cell in Python; the others are empty."""
    lines = as_python(source).split("\n") if numbers else []
    return "\n".join(line if number in numbers else "" for number, line in enumerate(lines, 1))


def _read(cells: Cells) -> tuple[list[Statement], Missing]:
    """The statements of all cells, and the cells that are not Python."""
    found: list[Statement] = []
    missing: Missing = []
    for number, (_, source) in enumerate(cells, 1):
        source, filename = as_python(source), f"<{_place(number)}>"
        linecache.cache[filename] = (len(source), None, source.splitlines(True), filename)
        try:
            found += statements(ast.parse(source, filename), filename, ANNOTATIONS)
        except (SyntaxError, ValueError, MemoryError, RecursionError) as error:
            missing.append((_place(number), f"it is not Python: {_syntax(error)}", source))
    return found, missing


def _place(number: int) -> str:
    return f"code cell {number}"


def _syntax(error: Exception) -> str:
    if isinstance(error, SyntaxError) and error.msg:
        return f"{error.msg} (line {error.lineno}: {(error.text or '').strip()})"
    return str(error)


def _execute(statement: Statement, names: dict[str, Any], missing: Missing) -> None:
    """Run one statement. What fails is only noted, as a notebook goes on with its next cell."""
    try:
        exec(statement.code, names)
    except TimeoutError:
        raise
    except BaseException as error:
        place = f"{statement.place}, line {statement.tree.lineno}"
        missing.append((place, f"{type(error).__name__}: {error}", ast.unparse(statement.tree)))


def refuse_unrun(value: Any) -> None:
    """Refuse what a function gives that has not run at all.

    Raises:
        TypeError: if it is a generator or a coroutine.
    """
    if isinstance(value, types.GeneratorType) and value.gi_code.co_name == "<genexpr>":
        raise TypeError("it gave a generator expression, of which nothing has run: write [...] in place of (...)")
    if isinstance(value, types.GeneratorType):
        raise TypeError("the function has a yield in it, so that calling it runs nothing of it: use return")
    if isinstance(value, types.CoroutineType):
        value.close()
        raise TypeError("the function is an async def, so that calling it runs nothing of it: write def")


def reasons(missing: Missing, name: str) -> str:
    """Where this name would have come from, as the end of a sentence: what failed elsewhere and would have made it."""
    makes = re.compile(rf"(?:def|class|import|as|,)\s+{re.escape(name)}\b|^\s*{re.escape(name)}\s*[=:,]", re.MULTILINE)
    found = [f"; {place}: {text}" for place, text, source in missing if makes.search(source)]
    return "".join(found[:3])
