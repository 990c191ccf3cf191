"""Nobody reads an answer above the run: what a page asserts stands folded behind the cell that shows it."""

import ast
from itertools import pairwise
from pathlib import Path

import nbformat
import pytest

NOTEBOOKS = Path(__file__).parents[2] / "notebooks"


def is_claims(cell):
    return "claims" in cell.metadata.get("tags", [])


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
        if is_claims(cell) and not is_claims(before) and cell.id != f"{before.id}-claims":
            yield cell.id, f"is called {before.id}-claims"
    for cell in [cell for cell in cells if cell.cell_type == "code"]:
        if asserts(cell) != is_claims(cell):
            yield cell.id, "asserts stand in cells tagged `claims`, and nothing else does"
        if is_claims(cell) and not cell.metadata.get("jupyter", {}).get("source_hidden"):
            yield cell.id, "is not folded"
        if is_claims(cell) and cell.outputs:
            yield cell.id, "prints"


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
