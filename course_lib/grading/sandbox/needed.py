"""Which statements of a submission make the names that a function uses, and the names that these use in turn.

So a helper works in whatever cell it stands, while an endless loop in another exercise, a slow trial or a figure does
not run at all. What calls do to a name (a registry, a table that a loop fills) is not looked for: no list of ways would
ever be whole. An answer that loses a point without it is judged again on whole cells; see `judge.readings`.
"""

from __future__ import annotations

import ast
import dis
import types
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

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
