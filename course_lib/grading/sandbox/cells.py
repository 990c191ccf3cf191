"""Shortens a submission's cells to what a function needs, and runs them, noting what fails on the way."""

from __future__ import annotations
import __future__

import ast
import builtins
import inspect
import linecache
import re
import sys
import types
from typing import Any

from .cell_clock import CellClock, TooSlow
from .magics import as_python
from .needed import Statement, needed, statements
from .one_thread import EventLoop
from .shell import Shell
from .stubs import Nothing

AS_IN_A_CELL = __future__.annotations.compiler_flag | ast.PyCF_ALLOW_TOP_LEVEL_AWAIT

SLOW = " slow:"  # behind a kind, and before the line from which on this cell takes too long
MAX_SLOW = 40  # cells that are told at once

Cells = list[tuple[str, str]]  # kind and source; the kind "answer" says that the cell defines the function
Missing = list[tuple[str, str, str]]  # what could not run: where, why, and its source


class CellError(Exception):
    """The submission's cells do not give the function; says why."""


class SlowCells(Exception):
    """Cells take too long; its text is "CELL:LINE" for each."""


def shortened(cells: Cells, function: str) -> Cells:
    """These cells with nothing in them but what the function needs, each statement on the line where it was.

    A cell that is not Python stays as it is.
    """
    found: list[Statement] = []
    broken = set()
    for number, (_, source) in enumerate(cells, 1):
        tree = _parsed(number, as_python(source))
        if isinstance(tree, str):
            broken.add(number)
        else:
            found += statements(tree, number, AS_IN_A_CELL)
    lines: dict[int, set[int]] = {}
    for one in needed(found, function):
        heads = [one.tree, *getattr(one.tree, "decorator_list", [])]
        last = one.tree.end_lineno or 0
        lines.setdefault(one.cell, set()).update(range(min(each.lineno for each in heads), last + 1))
    return [
        (kind, source if number in broken else _only(source, lines.get(number, set())))
        for number, (kind, source) in enumerate(cells, 1)
    ]


def _only(source: str, numbers: set[int]) -> str:
    """These lines of a cell in Python; the others are empty."""
    lines = as_python(source).split("\n") if numbers else []
    return "\n".join(line if number in numbers else "" for number, line in enumerate(lines, 1))


def _parsed(number: int, source: str) -> ast.Module | str:
    """This cell's statements, or why it is not Python."""
    try:
        tree = ast.parse(source, _file(number))
        compile(tree, _file(number), "exec", AS_IN_A_CELL)  # finds more, such as a `return` outside of a function
        return tree
    except (SyntaxError, ValueError, MemoryError, RecursionError) as error:
        if isinstance(error, SyntaxError) and error.msg:
            return f"it is not Python: {error.msg} (line {error.lineno}: {(error.text or '').strip()})"
        return f"it is not Python: {error}"


def collect(cells: Cells, function: str, clock: CellClock) -> tuple[Any, Missing]:
    """Execute these cells, one after the other as in a notebook.

    Returns the function, and what failed, to be told if the function turns out to need it.

    Raises:
        CellError: if no cell defines it, or its cell cannot run.
        SlowCells: if some took too long by this clock.
    """
    main = sys.modules["__main__"] = types.ModuleType("__main__")  # where pickle looks for what a notebook defines
    names = vars(main)
    names["__builtins__"] = __builtins__
    names.update(Out={}, In=[""], get_ipython=Shell, display=Nothing())
    missing: Missing = []
    slow = [_run(number, *cell, names, missing, clock) for number, cell in enumerate(cells, 1) if cell[1].strip()]
    if any(slow):
        raise SlowCells(" ".join(list(filter(None, slow))[:MAX_SLOW]))
    if callable(names.get(function)):
        return names[function], missing
    answers = {_place(number) for number, (kind, _) in enumerate(cells, 1) if kind.startswith("answer")}
    broken = [f"{place}: {text}" for place, text, _ in missing if place.split(",")[0] in answers]
    if broken:
        raise CellError(broken[0].replace(": it is not", " is not", 1))
    raise CellError(f"no cell defines {function}" + reasons(missing, function))


def _run(number: int, kind: str, source: str, names: dict[str, Any], missing: Missing, clock: CellClock) -> str:
    """Run a cell; where it took too long, if it did, and then its other statements do not run.

    What fails is only noted, and the next statement runs: much of the course is not there, and says so by failing.
    """
    _remember(number, source, names)
    filename, source = _file(number), as_python(source)
    linecache.cache[filename] = (len(source), None, source.splitlines(True), filename)
    tree = _parsed(number, source)
    if isinstance(tree, str):
        missing.append((_place(number), tree, source))
        return ""
    end = int(kind.partition(SLOW)[2] or sys.maxsize)
    clock.next_cell()
    for statement in tree.body:
        why = "this cell takes too long, and ends here"
        if statement.lineno < end:
            try:
                with clock:
                    _execute(statement, number, names, is_shown=statement is tree.body[-1])
                continue
            except TooSlow:
                return f"{number}:{statement.lineno}"
            except BaseException as error:
                why = f"{type(error).__name__}: {error}"
        missing.append((f"{_place(number)}, line {statement.lineno}", why, ast.unparse(statement)))
    return ""


def _execute(statement: ast.stmt, number: int, names: dict[str, Any], is_shown: bool) -> None:
    """Run this statement, and what it awaits to its end.

    What a notebook would show is `_` from then on, and has the number of its cell in `Out`: it was run from the top.
    """
    filename = _file(number)
    if is_shown and isinstance(statement, ast.Expr):
        code = compile(ast.Interactive([statement]), filename, "single", AS_IN_A_CELL)
    else:
        code = compile(ast.Module([statement], []), filename, "exec", AS_IN_A_CELL)
    hook, sys.displayhook = sys.displayhook, lambda value: _show(value, number, names)
    try:
        awaited = eval(code, names)
        if code.co_flags & inspect.CO_COROUTINE:
            EventLoop().run_until_complete(awaited)
    finally:
        sys.displayhook = hook


def _remember(number: int, source: str, names: dict[str, Any]) -> None:
    """This cell as `In` and `_i` have it; cells before it that were empty have their numbers, too."""
    names[f"_i{number}"] = names["_i"] = source
    if isinstance(names.get("In"), list):
        names["In"] += [""] * (number - len(names["In"])) + [source]


def _show(value: Any, number: int, names: dict[str, Any]) -> None:
    if value is None:
        return
    shown = vars(builtins)  # behind what the notebook itself calls `_`
    shown.update(___=shown.get("__"), __=shown.get("_"), _=value)
    if isinstance(names.get("Out"), dict):
        names["Out"][number] = names[f"_{number}"] = value


def _file(number: int) -> str:
    return f"<{_place(number)}>"


def _place(number: int) -> str:
    return f"code cell {number}"


def refuse_unrun(value: Any, mode: str) -> None:
    """Refuse what a function gives that has not run at all.

    Raises:
        TypeError: if it is a coroutine, on ranks what a yield gives, or in place anything that is still to run.
    """
    lazy, expression = isinstance(value, types.GeneratorType), getattr(value, "__name__", "") == "<genexpr>"
    if lazy and expression and mode == "in place":
        raise TypeError("it gave a generator expression, of which nothing has run: write [...] in place of (...)")
    if lazy and not expression and mode != "function":
        raise TypeError("the function has a yield in it, so that calling it runs nothing of it: use return")
    if isinstance(value, types.CoroutineType):
        value.close()
        raise TypeError("the function is an async def, so that calling it runs nothing of it: write def")


def reasons(missing: Missing, name: str) -> str:
    """Where this name would have come from, as the end of a sentence: what failed elsewhere and would have made it."""
    makes = re.compile(rf"(?:def|class|import|as|,)\s+{re.escape(name)}\b|^\s*{re.escape(name)}\s*[=:,]", re.MULTILINE)
    found = [f"; {place}: {text}" for place, text, source in missing if makes.search(source)]
    return "".join(found[:3])
