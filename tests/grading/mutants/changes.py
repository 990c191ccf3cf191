"""The one-token changes of a program: another number, operator, name or order, an argument or a statement less."""

import ast
import itertools
import re
from collections.abc import Iterator
from typing import Any

__all__ = ["changed"]

COMPARISONS = (ast.Lt, ast.LtE, ast.Gt, ast.GtE, ast.Eq, ast.NotEq)
ARITHMETIC = (ast.Add, ast.Sub, ast.Mult, ast.FloorDiv, ast.Div, ast.Mod)
GROUPS = (COMPARISONS, ARITHMETIC, (ast.In, ast.NotIn), (ast.Is, ast.IsNot), (ast.And, ast.Or))
GROUPS += ((ast.BitAnd, ast.BitOr, ast.BitXor), (ast.LShift, ast.RShift), (ast.Pow, ast.Mult))
ONE_SIDED = (ast.Sub, ast.FloorDiv, ast.Div, ast.Mod, ast.Pow, ast.LShift, ast.RShift, ast.MatMult)
WORDS = ("min max", "minimum maximum", "amin amax", "argmin argmax", "floor ceil", "any all", "sum mean", "sum prod")
WORDS += ("zeros ones", "zeros_like ones_like", "rank world_size", "rows columns", "left right", "append insert")
ONE_WAY = ("zeros empty", "zeros_like empty_like", "isend send", "irecv recv", "clone detach", "round floor")
PAIRS = [tuple(each.split()) for each in WORDS]
OTHER_WORDS = [*PAIRS, *((other, one) for one, other in PAIRS), *(tuple(each.split()) for each in ONE_WAY)]
IN_ANY_ORDER = ("min", "max")
RANK = re.compile(r"comm\.(rank|world_size)\b")
Change = tuple[ast.AST, str, Any]  # a node, its field, and what the field holds in place of what it has


def changed(source: str, other_names: bool = False) -> Iterator[tuple[str, str]]:
    """Each other program that one change makes of this one, and before it the change: "old line => new line".

    Args:
        other_names: whether a name may become another one, too.
    """
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and ast.get_docstring(node) and len(node.body) > 1:
            del node.body[0]
    names = _names_of(tree) if other_names else []
    before = ast.unparse(tree)
    seen = {before}
    for node, field, new in [each for place in ast.walk(tree) for each in _changes(place, names)]:
        old = getattr(node, field)
        setattr(node, field, new)
        after = ast.unparse(tree)
        setattr(node, field, old)
        if after not in seen:
            seen.add(after)
            yield _told(before.splitlines(), after.splitlines()), after


def _names_of(tree: ast.Module) -> list[str]:
    """The variables and arguments, in the order of the program."""
    nodes = list(ast.walk(tree))
    found = [node.arg for node in nodes if isinstance(node, ast.arg)]
    found += [node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)]
    return list(dict.fromkeys(found))


def _told(before: list[str], after: list[str]) -> str:
    """The lines that differ."""
    start = next(i for i, pair in enumerate(itertools.zip_longest(before, after)) if pair[0] != pair[1])
    shorter = min(len(before), len(after)) - start
    pairs = zip(reversed(before), reversed(after), strict=False)
    end = min(shorter, next((i for i, pair in enumerate(pairs) if pair[0] != pair[1]), shorter))
    old, new = ("; ".join(line.strip() for line in lines[start : len(lines) - end]) for lines in (before, after))
    return f"{old} => {new}"


def _changes(node: ast.AST, names: list[str]) -> Iterator[Change]:
    for field, value in ast.iter_fields(node):
        if isinstance(value, ast.expr_context):
            continue
        if isinstance(value, ast.AST):
            as_function = isinstance(node, ast.Call) and field == "func"
            yield from ((node, field, new) for new in _instead(value, [] if as_function else names))
        elif isinstance(value, list):
            for i, item in enumerate(value):
                if isinstance(item, ast.AST):
                    yield from ((node, field, value[:i] + [new] + value[i + 1 :]) for new in _instead(item, names))
            yield from ((node, field, new) for new in _other_lists(node, field, value))


def _other_lists(node: ast.AST, field: str, items: list[Any]) -> Iterator[list[Any]]:
    """One less, or two that are neighbors exchanged."""
    of_statements = bool(items) and isinstance(items[0], ast.stmt)
    of_values = (isinstance(node, ast.Call) and field == "args") or (isinstance(node, ast.BoolOp) and field == "values")
    if of_statements:
        yield from (items[:i] + [ast.Pass()] + items[i + 1 :] for i in range(len(items)))
    elif (of_values and len(items) > 1) or field in ("keywords", "ifs"):
        yield from (items[:i] + items[i + 1 :] for i in range(len(items)))
    if field == "orelse" and of_statements:
        yield []
    in_any_order = isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in IN_ANY_ORDER
    if of_statements or (field in ("args", "elts") and not in_any_order):
        for i, (one, other) in enumerate(itertools.pairwise(items)):
            if not _independent(one, other):
                yield items[:i] + [other, one] + items[i + 2 :]


def _independent(one: ast.AST, other: ast.AST) -> bool:
    """Whether these two assign to names of which neither uses the other's, and nothing is sent: any order is right."""
    if not all(isinstance(each, ast.Assign) and "comm" not in RANK.sub("", ast.unparse(each)) for each in (one, other)):
        return False
    names = [[node for node in ast.walk(each) if isinstance(node, ast.Name)] for each in (one, other)]
    stored = [{node.id for node in nodes if isinstance(node.ctx, ast.Store)} for nodes in names]
    used = [{node.id for node in nodes} for nodes in names]
    return not stored[0] & used[1] and not stored[1] & used[0] and bool(stored[0] and stored[1])


def _instead(node: ast.AST, names: list[str]) -> Iterator[ast.AST]:
    """What may stand in place of a node."""
    for group in GROUPS:
        if type(node) in group:
            yield from (each() for each in group if each is not type(node))
    if isinstance(node, ast.Constant):
        yield from _other_constants(node.value)
    elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
        yield from (ast.Name(name, ast.Load()) for name in names if node.id in names)
        yield from (ast.Name(name, ast.Load()) for word, name in OTHER_WORDS if word == node.id)
    elif isinstance(node, ast.Attribute):
        yield from (ast.Attribute(node.value, name, node.ctx) for word, name in OTHER_WORDS if word == node.attr)
    elif isinstance(node, ast.UnaryOp):
        yield node.operand
    elif isinstance(node, ast.BinOp):
        yield from (node.left, node.right)
        if isinstance(node.op, ONE_SIDED):
            yield ast.BinOp(node.right, node.op, node.left)
    elif isinstance(node, ast.IfExp):
        yield from (node.body, node.orelse, ast.IfExp(_negated(node.test), node.body, node.orelse))
    elif isinstance(node, ast.Call):
        yield from _other_calls(node)
    elif isinstance(node, (ast.Slice, ast.Subscript)):
        yield from _other_slices(node)
    elif isinstance(node, ast.stmt):
        yield from _other_statements(node)
    elif isinstance(node, ast.comprehension):
        for i, test in enumerate(node.ifs):
            ifs = node.ifs[:i] + [_negated(test)] + node.ifs[i + 1 :]
            yield ast.comprehension(node.target, node.iter, ifs, node.is_async)


def _other_constants(value: Any) -> Iterator[ast.AST]:
    if isinstance(value, bool):
        yield ast.Constant(not value)
    elif isinstance(value, (int, float)):
        others = dict.fromkeys((value + 1, value - 1, 0, 1, 2 * value, value / 2 if isinstance(value, float) else 0))
        yield from (ast.Constant(other) if other >= 0 else _minus(-other) for other in others if other != value)
    elif isinstance(value, str):
        yield ast.Constant(f"{value}x")


def _other_calls(node: ast.Call) -> Iterator[ast.AST]:
    """The argument in place of f(x), x in place of x.f(...), a range that ends elsewhere, an order turned round."""
    name = node.func.id if isinstance(node.func, ast.Name) else ""
    if isinstance(node.func, ast.Attribute):
        yield node.func.value
    if name and len(node.args) == 1 and not isinstance(node.args[0], ast.Starred):
        yield node.args[0]
    if name == "sorted":
        yield ast.Call(node.func, node.args, [*node.keywords, ast.keyword("reverse", ast.Constant(True))])
    if name == "range":
        yield ast.Call(ast.Name("reversed", ast.Load()), [node], [])
        ends = [
            [*node.args[:i], each, *node.args[i + 1 :]]
            for i in range(len(node.args))
            for each in _shifted(node.args[i])
        ]
        ends += [[ast.Constant(1), *node.args]] * (len(node.args) == 1)
        yield from (ast.Call(node.func, args, []) for args in ends)


def _other_slices(node: ast.Slice | ast.Subscript) -> Iterator[ast.AST]:
    if isinstance(node, ast.Subscript):
        yield node.value
        if not isinstance(node.slice, (ast.Slice, ast.Tuple)):
            yield from (ast.Subscript(node.value, each, node.ctx) for each in _shifted(node.slice))
        return
    for field in ("lower", "upper", "step"):
        parts = {"lower": node.lower, "upper": node.upper, "step": node.step}
        part = parts[field]
        others = [None, *_shifted(part)] if part else [_minus(1)] if field == "step" else [ast.Constant(1), _minus(1)]
        yield from (ast.Slice(**{**parts, field: other}) for other in others)


def _other_statements(node: ast.stmt) -> Iterator[ast.AST]:
    if isinstance(node, (ast.If, ast.While)):
        yield type(node)(_negated(node.test), node.body, node.orelse)
    if isinstance(node, ast.AugAssign):
        yield ast.Assign([node.target], node.value, lineno=0)
    if isinstance(node, ast.Break):
        yield ast.Continue()
    if isinstance(node, ast.Continue):
        yield ast.Break()


def _shifted(node: ast.expr) -> tuple[ast.expr, ast.expr]:
    return ast.BinOp(node, ast.Add(), ast.Constant(1)), ast.BinOp(node, ast.Sub(), ast.Constant(1))


def _negated(node: ast.expr) -> ast.expr:
    return ast.UnaryOp(ast.Not(), node)


def _minus(value: float) -> ast.expr:
    return ast.UnaryOp(ast.USub(), ast.Constant(value))
