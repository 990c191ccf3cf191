"""Which lines of a submission run: the cells of the exercise and what they need, and nothing that only shows something.

Cells tagged `setup` and cells that define the exercise's function run statement by statement. From any other cell only
imports, functions, classes and plain constants are taken, so that a helper in a cell of its own works and an endless
loop in another exercise does not.
"""

from __future__ import annotations
import __future__

import ast
import linecache
import re
import types
from typing import Any

__all__ = ["CellError", "Missing", "as_python", "collect", "reasons", "refuse_unrun"]

ASIDE = re.compile(r"^\s*([%!?]|[\w.]+\?{1,2}\s*$)")  # a magic, a command of the shell, or a question
DEFINITIONS = (ast.Import, ast.ImportFrom, ast.FunctionDef, ast.ClassDef, ast.AsyncFunctionDef)


Missing = list[tuple[str, str, str]]  # what could not run: where, why, and its source


class CellError(Exception):
    """The submission's cells do not give the function; says why."""


def collect(cells: list[tuple[str, str]], function: str) -> tuple[Any, Missing]:
    """Execute what is needed of these (kind, source) cells.

    Returns the function of this name, and what failed in other cells.

    Raises:
        CellError: if no cell defines it, or its cell cannot run.
    """
    names: dict[str, Any] = {"__name__": "__main__", "__builtins__": __builtins__}
    missing: Missing = []  # what failed elsewhere, told if the function turns out to need it
    for number, (kind, source) in enumerate(cells, 1):
        source = as_python(source)
        filename = f"<code cell {number}>"
        linecache.cache[filename] = (len(source), None, source.splitlines(True), filename)
        try:
            tree = ast.parse(source, filename)
        except (SyntaxError, ValueError, MemoryError, RecursionError) as error:
            if kind == "answer":
                raise CellError(f"code cell {number} is not Python: {_syntax(error)}") from error
            missing.append((f"code cell {number}", f"it is not Python: {_syntax(error)}", source))
            continue
        for statement in tree.body:
            if _wanted(statement, kind):
                _execute(statement, kind, filename, names, missing, source)
    if not callable(names.get(function)):
        raise CellError(f"no cell defines {function}" + reasons(missing, function))
    return names[function], missing


def _wanted(statement: ast.stmt, kind: str) -> bool:
    if isinstance(statement, DEFINITIONS) or kind != "other":
        return True
    calls = any(isinstance(node, (ast.Call, ast.Await)) for node in ast.walk(statement))
    return isinstance(statement, (ast.Assign, ast.AnnAssign)) and not calls


def as_python(source: str) -> str:
    """A cell as IPython takes it: magics and questions left out, and not indented if its first line is.

    >>> as_python("%%time\\nx = 1\\nx?")
    '\\nx = 1\\n'
    >>> as_python("    def f(x):\\n        return x")
    'def f(x):\\n    return x'
    """
    lines = ["" if ASIDE.match(line) else line for line in source.split("\n")]
    first = next((line for line in lines if line.strip()), "")
    indent = first[: len(first) - len(first.lstrip(" \t"))]
    return "\n".join(line.removeprefix(indent) for line in lines)


def _syntax(error: Exception) -> str:
    if isinstance(error, SyntaxError) and error.msg:
        return f"{error.msg} (line {error.lineno}: {(error.text or '').strip()})"
    return str(error)


def _execute(
    statement: ast.stmt, kind: str, filename: str, names: dict[str, Any], missing: Missing, source: str
) -> None:
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
        place = f"{filename[1:-1]}, line {statement.lineno}"
        missing.append((place, text, ast.get_source_segment(source, statement) or ""))


def refuse_unrun(value: Any) -> None:
    """Refuse what a function gives that has not run at all.

    Raises:
        TypeError: if it is a generator or a coroutine.
    """
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
