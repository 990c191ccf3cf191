"""Nobody reads an answer above the run: what a page asserts stands folded behind the cell that shows it."""

import ast
from itertools import pairwise
from pathlib import Path

import nbformat
import pytest

IMPORTS = (ast.Import, ast.ImportFrom)
NOTEBOOKS = Path(__file__).parents[2] / "notebooks"


def is_claims(cell):
    return "claims" in cell.metadata.get("tags", [])


def is_clock(cell):
    return "clock" in cell.metadata.get("tags", [])


def result_of(cell):
    """The id of the cell whose result this cell, or the claims that it holds, shows."""
    return cell.id.removesuffix("-claims").removesuffix("-clock") if is_claims(cell) else cell.id


CHAPTERS = sorted(path.stem for path in NOTEBOOKS.glob("*.ipynb"))


def asserts(cell):
    lines = [line for line in cell.source.splitlines() if not line.lstrip().startswith(("%", "!"))]
    nodes = list(ast.walk(ast.parse("\n".join(lines))))
    raised = [node for node in nodes if isinstance(node, ast.Name) and node.id == "AssertionError"]
    return bool(raised) or any(isinstance(node, ast.Assert) for node in nodes)


def faults(cells):
    """(id of the cell, what is wrong with it) of a page's cells."""
    for before, cell in pairwise(cells):
        if is_claims(cell) and before.cell_type != "code":
            yield cell.id, "claims stand behind the cell that shows the result"
        if is_claims(cell) and cell.id != (name := result_of(before) + "-clock" * is_clock(cell) + "-claims"):
            yield cell.id, f"is called {name}"
    for cell in [cell for cell in cells if cell.cell_type == "code"]:
        if asserts(cell) != is_claims(cell):
            yield cell.id, "asserts stand in cells tagged `claims`, and nothing else does"
        if is_claims(cell) and not cell.metadata.get("jupyter", {}).get("source_hidden"):
            yield cell.id, "is not folded"
        if is_claims(cell) and cell.outputs:
            yield cell.id, "prints"
        if is_clock(cell) and not is_claims(cell):
            yield cell.id, "only claims read the clock"
    yield from needed_by_day(cells)


def names(cell, kind):
    """The names that a cell binds (`ast.Store`) or reads (`ast.Load`)."""
    lines = [line for line in cell.source.splitlines() if not line.lstrip().startswith(("%", "!"))]
    nodes = list(ast.walk(ast.parse("\n".join(lines))))
    defined = {node.name for node in nodes if isinstance(node, (ast.FunctionDef, ast.ClassDef))}
    imported = {(each.asname or each.name) for node in nodes if isinstance(node, IMPORTS) for each in node.names}
    found = {node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, kind)}
    return found | defined | imported if kind is ast.Store else found


def needed_by_day(cells):
    """By day a cell tagged `clock` is not there, so no other cell needs a name that it alone has bound."""
    code, bound = [cell for cell in cells if cell.cell_type == "code"], set()
    for cell in code:
        if is_clock(cell):
            bound |= names(cell, ast.Store) - set().union(*(names(c, ast.Store) for c in code[: code.index(cell)]))
        elif needed := names(cell, ast.Load) & bound - names(cell, ast.Store):
            yield cell.id, f"needs {', '.join(sorted(needed))} of a cell tagged `clock`"
        bound -= set() if is_clock(cell) else names(cell, ast.Store)


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_what_a_page_asserts_stands_folded_behind_what_it_shows(chapter):
    assert list(faults(nbformat.read(NOTEBOOKS / f"{chapter}.ipynb", as_version=4).cells)) == []


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"id": "other"}, "is called ring-claims"),
        ({"source": "two = 2"}, "nothing else does"),
        ({"metadata": {"tags": ["claims"]}}, "is not folded"),
        ({"outputs": [nbformat.v4.new_output("stream", text="2")]}, "prints"),
        ({"metadata": {}}, "asserts stand in cells tagged"),
    ],
)
def test_a_wrong_cell_is_seen(wrong, words):
    ask, show = nbformat.v4.new_markdown_cell("Guess."), nbformat.v4.new_code_cell("ring = 2", id="ring")
    folded = {"tags": ["claims"], "jupyter": {"source_hidden": True}}
    right = nbformat.v4.new_code_cell("assert ring == 2", id="ring-claims", metadata=nbformat.from_dict(folded))
    assert list(faults([ask, show, right])) == []
    assert words in str(list(faults([ask, show, nbformat.from_dict({**right, **wrong})])))
    assert list(faults([ask, right])) == [
        ("ring-claims", "claims stand behind the cell that shows the result"),
        ("ring-claims", f"is called {ask.id}-claims"),
    ]


def test_claims_on_the_clock_stand_behind_the_exact_ones_and_bind_nothing_that_another_cell_needs():
    def cell(name, source, *tags):
        hidden = {"jupyter": {"source_hidden": True}} if tags else {}
        return nbformat.v4.new_code_cell(source, id=name, metadata=nbformat.from_dict({"tags": [*tags], **hidden}))

    ring, exact = cell("ring", "ring = 2"), cell("ring-claims", "assert ring == 2", "claims")
    clock = cell("ring-clock-claims", "slow = ring\nassert slow < 3", "claims", "clock")
    assert list(faults([ring, exact, clock, cell("own", "slow = 4"), cell("later", "slow")])) == []
    assert list(faults([ring, clock])) == []
    assert list(faults([ring, clock, cell("later", "slow")])) == [("later", "needs slow of a cell tagged `clock`")]
    wrong = cell("ring-claims", "assert ring < 3", "claims", "clock")
    assert list(faults([ring, wrong])) == [("ring-claims", "is called ring-clock-claims")]
    assert list(faults([ring, cell("other", "ring", "clock")])) == [("other", "only claims read the clock")]
