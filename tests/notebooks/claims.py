"""A page's claims, counted: each `assert` writes down whether it held, wherever the page runs.

In a cell tagged `claims` one that fails lets the next ones run; elsewhere it ends the page, as for a reader.
"""

import ast
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import nbformat

RECORDER = """\
def __claim__(cell, line, holds):
    import json
    with open({path!r}, "a") as file:
        print(json.dumps([cell, line, bool(holds)]), file=file)
    return holds
"""


@dataclass(frozen=True)
class Claim:
    page: str
    cell: str
    line: str
    where: str
    held: bool


def counted(page: nbformat.NotebookNode, path: Path) -> nbformat.NotebookNode:
    """The page with asserts that write to `path`."""
    for cell in page.cells:
        if cell.cell_type == "code":
            cell.source = with_records(cell.source, cell.id, "claims" in cell.metadata.get("tags", []))
    page.cells.insert(0, nbformat.v4.new_code_cell(RECORDER.format(path=str(path))))
    return page


def with_records(source: str, cell: str, go_on: bool) -> str:
    """The cell's source, with the condition of each assert inside a call of `__claim__`."""
    try:
        found = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Assert)]
    except SyntaxError:  # a magic of IPython's
        return source
    lines = source.encode().splitlines(keepends=True)
    for node in sorted(found, key=lambda node: node.lineno, reverse=True):
        first, last = node.lineno - 1, (node.end_lineno or node.lineno) - 1
        text = lines[first].decode().strip()
        before, condition, after = _around(node, b"".join(lines[first : last + 1]))
        call = f"__claim__({cell!r}, {text!r}, ({condition.decode()}))".encode()
        indent = b" " * node.col_offset
        caught = f"except Exception: __claim__({cell!r}, {text!r}, False)\n".encode()
        extra = [indent + b"try: " + (before + call + after).strip() + b"\n", indent + caught]
        lines[first : last + 1] = extra if go_on else [before + call + after]
    return b"".join(lines).decode()


def _around(node: ast.Assert, statement: bytes) -> tuple[bytes, bytes, bytes]:
    """The statement's lines before, in and behind its condition, with the brackets around it."""
    begin = node.col_offset + len("assert ")
    if node.msg is None:
        end = _offset(statement, node.lineno, node.end_lineno or 0, node.end_col_offset or 0)
    else:
        end = _offset(statement, node.lineno, node.msg.lineno, node.msg.col_offset)
        end = statement.rindex(b",", 0, end)
    return statement[:begin], statement[begin:end], statement[end:]


def _offset(statement: bytes, first: int, line: int, column: int) -> int:
    return sum(len(each) for each in statement.splitlines(keepends=True)[: line - first]) + column


def read(path: Path, page: str, where: str) -> list[Claim]:
    """What was written in one run. A claim made several times, in a loop, holds if it always did."""
    held: dict[tuple[str, str], bool] = {}
    for cell, line, holds in map(json.loads, path.read_text().splitlines() if path.exists() else []):
        held[cell, line] = held.get((cell, line), True) and holds
    return [Claim(page, *claim, where, holds) for claim, holds in held.items()]


def table(claims: Iterable[Claim]) -> Iterator[str]:
    """A line for each claim: page, cell, source, how often it held of how many runs, and where it did not."""
    together: dict[tuple[str, str, str], list[Claim]] = {}
    for claim in sorted(claims, key=lambda claim: claim.page):
        together.setdefault((claim.page, claim.cell, claim.line), []).append(claim)
    for (page, cell, line), all_of_it in together.items():
        failed = [claim.where for claim in all_of_it if not claim.held]
        count = f"{len(all_of_it) - len(failed)} of {len(all_of_it)}"
        yield f"{count:>8}  {page[:2]}  {cell:<28} {line}" + (f"   FAILED: {', '.join(failed)}" if failed else "")
