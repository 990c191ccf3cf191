"""Which statements of a submission a function needs: those that make the names it uses, and what these use in turn.

So a helper works in whatever cell it stands, with all that is done to it, while an endless loop in another exercise, a
slow trial or a figure does not run at all.
"""

from __future__ import annotations

import ast
import dis
import types
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from .stubs import SILENT

__all__ = ["Statement", "needed", "statements"]

DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
LATER = (*DEFINITIONS, ast.Lambda)  # what stands in these does not happen where they stand


@dataclass
class Statement:
    """A statement of a cell.

    Attributes:
        cell: the number of the cell that it stands in.
        makes: names that it gives a value, or an item or attribute of whose value.
        uses: names that it reads, also within the functions that it defines.
        changes: names whose values it may change: what it calls a method of, and what it gives to a call.
        calls: functions that it calls for nothing but their effects.
        stores: the names that a function in it declares `global` and sets, by function.
        kind: "import", "definition", "call" (has one, runs one) or "plain".
    """

    tree: ast.stmt
    cell: int
    makes: set[str] = field(default_factory=set)
    uses: set[str] = field(default_factory=set)
    changes: set[str] = field(default_factory=set)
    calls: set[str] = field(default_factory=set)
    stores: dict[str, set[str]] = field(default_factory=dict)
    kind: str = "plain"


def statements(tree: ast.Module, cell: int, flags: int) -> Iterator[Statement]:
    """Each statement of this cell, by itself, compiled with these flags."""
    for node in tree.body:
        one = Statement(node, cell)
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            one.kind = "import"
        elif isinstance(node, DEFINITIONS):
            one.kind = "definition"
        elif any(isinstance(each, ast.Call) for each in ast.walk(node)):
            one.kind = "call"
        _note_names(one, compile(ast.Module([node], []), "", "exec", flags), "")
        _note_changes(one, node)
        yield one


def needed(found: Sequence[Statement], function: str) -> list[Statement]:
    """Those of these statements that this function needs, in their order."""
    modules = {name for one in found if one.kind == "import" and not _is_silent(one.tree) for name in one.makes}
    made = {name for one in found if one.kind in ("definition", "call") for name in one.makes}
    data = {name for one in found if one.kind in ("plain", "call") for name in one.makes}
    stores = _stored_by_calls(found, data, function)
    wanted = {n for n, one in enumerate(found) if _sets_up_a_library(one, modules, made) or _imports_all(one)}
    names = {function}.union(*(found[number].uses for number in wanted))
    while True:
        more = {
            number
            for number, one in enumerate(found)
            if number not in wanted and names & (one.makes | one.changes & data | _stored(one, stores))
        }
        if not more:
            return [one for number, one in enumerate(found) if number in wanted]
        wanted |= more
        names = names.union(*(found[number].uses for number in more))


def _stored_by_calls(found: Sequence[Statement], data: set[str], answer: str) -> dict[str, set[str]]:
    """For each function the names that it sets, and the data that it changes, itself or by what it calls.

    What the answer itself changes is left out: nobody needs the trials of it.
    """
    stores = {name: set(names) for one in found for name, names in one.stores.items()}
    functions = [one for one in found if isinstance(one.tree, DEFINITIONS) and one.tree.name != answer]
    grew = True
    while grew:
        grew = False
        for one in functions:
            own = stores.setdefault(one.tree.name, set())  # type: ignore[attr-defined]
            more = (one.makes | one.changes) & data | _stored(one, stores)
            grew = grew or not more <= own
            own |= more
    return stores


def _stored(one: Statement, stores: dict[str, set[str]]) -> set[str]:
    """The names that the functions set which this statement calls."""
    return {name for call in one.calls for name in stores.get(call, ())}


def _is_silent(node: ast.stmt) -> bool:
    """Whether this import gives nothing but names that do nothing."""
    roots = [node.module] if isinstance(node, ast.ImportFrom) else [each.name for each in getattr(node, "names", [])]
    return all((root or "").split(".")[0] in SILENT for root in roots)


def _imports_all(one: Statement) -> bool:
    return isinstance(one.tree, ast.ImportFrom) and one.tree.names[0].name == "*"


def _sets_up_a_library(one: Statement, modules: set[str], made: set[str]) -> bool:
    """Whether it may change how a library works from then on, as `torch.manual_seed(0)` does, and computes nothing."""
    node = one.tree.value if isinstance(one.tree, ast.Expr) else None
    only = isinstance(node, ast.Call) and sum(isinstance(each, ast.Call) for each in ast.walk(node)) == 1
    return only and bool(one.uses & modules - {"time"}) and not one.uses & made


def _note_names(one: Statement, code: types.CodeType, function: str) -> None:
    """Add the global names that this code, and what is defined in it, makes and uses."""
    for instruction in dis.get_instructions(code):
        name, operation = instruction.argval, instruction.opname
        if operation in ("STORE_NAME", "DELETE_NAME") and not function:
            one.makes.add(name)
        elif operation in ("STORE_GLOBAL", "DELETE_GLOBAL"):
            one.stores.setdefault(function, set()).add(name)
        elif operation.startswith("LOAD_") and operation.endswith(("NAME", "GLOBAL", "GLOBALS")):
            one.uses.add(name)
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            _note_names(one, constant, function or constant.co_name)


def _note_changes(one: Statement, node: ast.AST) -> None:
    """Add the names that this statement changes without naming them anew, and what it calls."""
    if isinstance(node, (ast.Attribute, ast.Subscript)) and not isinstance(node.ctx, ast.Load):
        one.makes.add(_root(node))
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        call = node.value
        one.changes |= {_root(each) for each in (call.func, *call.args)}
        one.calls |= {call.func.id} if isinstance(call.func, ast.Name) else set()
    decorators = getattr(node, "decorator_list", [])
    one.calls |= {each.id for each in decorators if isinstance(each, ast.Name)}
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, LATER):
            _note_changes(one, child)


def _root(node: ast.AST) -> str:
    """The name that `name.a[0].b` begins with; empty if it begins with something else."""
    while isinstance(node, (ast.Attribute, ast.Subscript, ast.Starred)):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""
