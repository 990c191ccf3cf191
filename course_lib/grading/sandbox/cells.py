"""Runs a submission's cells within time limits, shortened to the statements that a function depends on.

First come the statements that make the names which a function uses, and the names that these use in turn. So a helper
works in whatever cell it stands, while an endless loop in another exercise, a slow trial or a figure does not run at
all. What calls do to a name (a registry, a table that a loop fills) is not looked for: no list of ways would ever be
whole. An answer that loses a point without it is judged again on whole cells; see `judge.attempts`.

A slow trial is no part of an answer, so each cell, and all together, have a limit of time. Its signal's handler raises
an error that comes again (`persistent`): Python swallows an exception of a weakref callback or a `__del__`, and a
program may catch all. Raising one has the handler run once more, at the next line of Python, and it raises again if the
program still runs there.
"""

from __future__ import annotations
import __future__

import _thread
import ast
import builtins
import dis
import functools
import inspect
import linecache
import re
import signal
import sys
import time
import types
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from types import FrameType
from typing import Any, TypeVar

from .alike import EventLoop
from .magics import as_python
from .stubs import Nothing, Shell

Error = TypeVar("Error", bound=BaseException)


def persistent(error: type[Error], number: int, **about: Any) -> type[Error]:
    """A class like this one, to be raised without arguments, with which this signal comes to the main thread again.

    The handler cannot send it by itself: it would be interrupted by it in its own next line.
    """
    sends = staticmethod(functools.partial(_thread.interrupt_main, signal.Signals(number)))
    return type(error.__name__, (error,), {"__init__": sends, "__module__": error.__module__, **about})


MIN_S = 0.02  # that a cell gets when the others have used up what all may take
FOR_REAL, MORE_S = 3, 1.0  # times as long, and so much more, may it take if it waits


class TooSlow(BaseException):
    """A cell has taken too long; no student's `except Exception` is meant by it."""


class CellClock:
    """Raises TooSlow where a cell takes too long: use it as a context manager around each of its statements.

    Args:
        cell_s: processor time of one cell.
        cells_s: and of all cells together.
    """

    def __init__(self, cell_s: float, cells_s: float) -> None:
        self.cell_s, self.left_s = cell_s, cells_s
        self._cell_left_s = cell_s
        self._began_s = 0.0
        self._runs = self._has_rung = False

    def next_cell(self) -> None:
        """The statements that follow are another cell's."""
        self._cell_left_s = self.cell_s

    def __enter__(self) -> None:
        limit_s = max(MIN_S, min(self._cell_left_s, self.left_s))
        self._began_s = time.process_time()
        self._runs, self._has_rung = True, False
        for number in (signal.SIGPROF, signal.SIGALRM):
            signal.signal(number, self._ring)
        signal.setitimer(signal.ITIMER_PROF, limit_s)
        signal.setitimer(signal.ITIMER_REAL, FOR_REAL * limit_s + MORE_S)

    def __exit__(self, *error: object) -> None:
        self._runs = False
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.setitimer(signal.ITIMER_REAL, 0)
        used_s = time.process_time() - self._began_s
        self._cell_left_s -= used_s
        self.left_s -= used_s

    def _ring(self, number: int, frame: FrameType | None) -> None:
        if self._runs and (in_a_cell(frame) or not self._has_rung):
            self._has_rung = True
            raise persistent(TooSlow, number)


def in_a_cell(frame: FrameType | None) -> bool:
    """Whether a cell's code, or what it has called, is what runs here."""
    while frame is not None:
        if frame.f_code.co_filename.startswith("<code cell "):
            return True
        frame = frame.f_back
    return False


LATER = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)  # what stands in these does not happen where they stand


@dataclass
class Statement:
    """A statement of a cell.

    Attributes:
        cell: the number of the cell that it stands in.
        makes: names that it gives a value, or an item or attribute of whose value.
        uses: names that it reads, also within the functions that it defines.
    """

    tree: ast.stmt
    cell: int
    makes: set[str] = field(default_factory=set)
    uses: set[str] = field(default_factory=set)


def statements(tree: ast.Module, cell: int, flags: int) -> Iterator[Statement]:
    """Each statement of this cell, by itself, compiled with these flags."""
    for node in tree.body:
        one = Statement(node, cell)
        _note_names(one, compile(ast.Module([node], []), "", "exec", flags), outermost=True)
        one.makes |= set(_changed(node))
        yield one


def needed(found: Sequence[Statement], function: str) -> list[Statement]:
    """Those of these statements that this function needs, in their order."""
    wanted = {number for number, one in enumerate(found) if _imports_all(one)}
    names, before = {function}, set[str]()
    while names != before:
        before = names
        wanted |= {number for number, one in enumerate(found) if names & one.makes}
        names = names.union(*(found[number].uses for number in wanted))
    return [one for number, one in enumerate(found) if number in wanted]


def _imports_all(one: Statement) -> bool:
    return isinstance(one.tree, ast.ImportFrom) and one.tree.names[0].name == "*"


def _note_names(one: Statement, code: types.CodeType, outermost: bool = False) -> None:
    """Add the global names that this code, and what is defined in it, makes and uses."""
    for instruction in dis.get_instructions(code):
        name, operation = instruction.argval, instruction.opname
        if operation in ("STORE_NAME", "DELETE_NAME") and outermost:
            one.makes.add(name)
        elif operation.startswith("LOAD_") and operation.endswith(("NAME", "GLOBAL", "GLOBALS")):
            one.uses.add(name)
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            _note_names(one, constant)


def _changed(node: ast.AST) -> Iterator[str]:
    """The names whose items or attributes this statement sets, where it stands and not in what it defines."""
    if isinstance(node, (ast.Attribute, ast.Subscript)) and not isinstance(node.ctx, ast.Load):
        yield _root(node)
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, LATER):
            yield from _changed(child)


def _root(node: ast.AST) -> str:
    """The name that `name.a[0].b` begins with; empty if it begins with something else."""
    while isinstance(node, (ast.Attribute, ast.Subscript, ast.Starred)):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""


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
