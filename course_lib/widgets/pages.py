"""The explorers that a page makes, made again from its cells without running the page."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Mapping, Sequence
from typing import Any

from course_lib.widgets.explorer import Explorer


def explorer_cells(notebook: Mapping[str, Any]) -> dict[int, tuple[str, list[str]]]:
    """Number of each cell that ends in an explorer -> its source, and those of the cells of code before it."""
    sources = ["".join(cell["source"]) if cell["cell_type"] == "code" else "" for cell in notebook["cells"]]
    return {
        number: (source, [before for before in sources[:number] if before])
        for number, source in enumerate(sources)
        if _ends_in_one(source)
    }


def explorer_of(cell: str, before: Sequence[str] = ()) -> Explorer:
    """The explorer on the last line of a cell, with the functions and imports that it needs from the cells before.

    >>> explorer_of("PipelineExplorer(ranks=3)", ["from course_lib.widgets import PipelineExplorer"]).values["ranks"]
    3
    """
    *body, last = ast.parse(cell).body
    needed: list[ast.stmt] = [*body, last]
    for each in reversed(list(itertools.chain.from_iterable(map(_statements, before)))):
        names = {node.id for part in needed for node in ast.walk(part) if isinstance(node, ast.Name)}
        if _makes(each) & names:
            needed = [each, *needed]
    known: dict[str, Any] = {}
    exec(compile(ast.Module(needed[:-1], []), "page", "exec"), known)
    if not isinstance(last, ast.Expr):
        raise ValueError(f"a cell that shows an explorer ends in one, got {ast.unparse(last)!r}")
    return eval(compile(ast.Expression(last.value), "page", "eval"), known)


def _ends_in_one(cell: str) -> bool:
    """Whether the last line makes an explorer, or names one that the cell has made."""
    statements = _statements(cell)
    last = statements[-1] if statements else None
    if not isinstance(last, ast.Expr):
        return False
    if isinstance(last.value, ast.Name):
        made = [each.value for each in statements if isinstance(each, ast.Assign) and _binds(each, last.value.id)]
        return bool(made) and _is_explorer(made[-1])
    return _is_explorer(last.value)


def _binds(statement: ast.Assign, name: str) -> bool:
    return any(isinstance(target, ast.Name) and target.id == name for target in statement.targets)


def _is_explorer(value: ast.expr) -> bool:
    return isinstance(value, ast.Call) and isinstance(value.func, ast.Name) and value.func.id.endswith("Explorer")


def _statements(cell: str) -> list[ast.stmt]:
    try:
        return ast.parse(cell).body
    except SyntaxError:  # a magic, or a shell's command
        return []


def _makes(statement: ast.stmt) -> set[str]:
    """The names that a statement makes, if it is an import or a definition."""
    if isinstance(statement, ast.Import | ast.ImportFrom):
        return {alias.asname or alias.name for alias in statement.names}
    return {statement.name} if isinstance(statement, ast.FunctionDef | ast.ClassDef) else set()
