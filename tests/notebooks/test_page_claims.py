"""What a page asserts stands in tests/claims, behind the cell that shows it, and nowhere on the page."""

import ast

import nbformat
import pytest
from pages import PAGES
from sidecars import blocks_in, sidecar_of, with_claims

IMPORTS = (ast.Import, ast.ImportFrom)


def tree_of(cell):
    """The cell's code without its magics."""
    lines = [line for line in cell.source.splitlines() if not line.lstrip().startswith(("%", "!"))]
    return ast.walk(ast.parse("\n".join(lines)))


def asserts(cell):
    return any(isinstance(node, ast.Assert) or getattr(node, "id", "") == "AssertionError" for node in tree_of(cell))


def is_claims(cell):
    return "claims" in cell.metadata.get("tags", [])


def is_clock(cell):
    return "clock" in cell.metadata.get("tags", [])


def names(cell, kind):
    """The names that a cell binds (`ast.Store`) or reads (`ast.Load`)."""
    nodes = list(tree_of(cell))
    defined = {node.name for node in nodes if isinstance(node, (ast.FunctionDef, ast.ClassDef))}
    imported = {(each.asname or each.name) for node in nodes if isinstance(node, IMPORTS) for each in node.names}
    found = {node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, kind)}
    return found | defined | imported if kind is ast.Store else found


def arguments(cell):
    """The names that a function or a comprehension of the cell binds for itself."""
    nodes = list(tree_of(cell))
    own = {node.arg for node in nodes if isinstance(node, ast.arg)}
    return own | {node.name for node in nodes if isinstance(node, ast.ExceptHandler) and node.name}


def faults(cells):
    """(id of the cell, what is wrong with it) of a page's cells, its claims among them."""
    for cell in cells:
        if asserts(cell) and not is_claims(cell):
            yield cell.id, "asserts on the page"
        if is_claims(cell) and not asserts(cell):
            yield cell.id, "asserts nothing"
    yield from needed(cells, is_claims, is_for=lambda cell: not is_claims(cell))
    yield from needed(cells, is_clock, is_for=lambda cell: not is_clock(cell))


def needed(cells, left_out, is_for):
    """A reader has no claims, and by day nobody has those on the clock: what is left needs no name that they bind."""
    bound, kept = set(), set()
    for cell in cells:
        stored = names(cell, ast.Store)
        if left_out(cell):
            bound |= stored - kept
            continue
        if is_for(cell) and (wanted := names(cell, ast.Load) & bound - stored - arguments(cell)):
            yield cell.id, f"needs {', '.join(sorted(wanted))} of claims"
        kept |= stored
        bound -= stored


def code_of(page):
    return [cell for cell in with_claims(page).cells if cell.cell_type == "code"]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_page_asserts_nothing_itself_and_needs_nothing_of_its_claims(page):
    assert list(faults(code_of(page))) == []


def test_each_file_of_claims_belongs_to_a_page():
    there = {path.name for path in sidecar_of(PAGES[0]).parent.glob("*.py")}
    assert there - {sidecar_of(page).name for page in PAGES} == set()


def cell(name, source, *tags):
    return nbformat.v4.new_code_cell(source, id=name, metadata=nbformat.from_dict({"tags": [*tags]}))


RING = cell("ring", "ring = 2")


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ([cell("own", "assert ring == 2")], [("own", "asserts on the page")]),
        ([cell("ring-claims", "two = 2", "claims")], [("ring-claims", "asserts nothing")]),
        ([cell("a-claims", "two = 2\nassert two", "claims"), cell("b", "print(two)")], [("b", "needs two of claims")]),
        ([cell("a-claims", "two = 2\nassert two", "claims"), cell("b", "def f(two):\n    return two")], []),
        ([cell("a-claims", "two = 2\nassert two", "claims"), cell("b", "two = 3"), cell("c", "two")], []),
        (
            [
                cell("a-clock-claims", "two = 2\nassert two", "claims", "clock"),
                cell("b-claims", "assert two", "claims"),
            ],
            [("b-claims", "needs two of claims")],
        ),
    ],
)
def test_a_wrong_cell_is_seen(wrong, words):
    assert list(faults([RING, *wrong])) == words


def test_claims_are_put_behind_their_cell_those_on_the_clock_last(tmp_path, monkeypatch):
    page = tmp_path / "01_rings.ipynb"
    nbformat.write(nbformat.v4.new_notebook(cells=[RING, cell("later", "1")]), page)
    sidecar = tmp_path / "01_rings.py"
    monkeypatch.setattr("sidecars.sidecar_of", lambda page: sidecar)
    sidecar.write_text("# after ring clock\nassert ring > 1\n\n# after ring\nassert ring == 2\n")
    assert [each.id for each in code_of(page)] == ["ring", "ring-claims", "ring-clock-claims", "later"]
    for text, words in {
        "# after rings\nassert 1\n": "no such cell",
        "# after ring\n1\n# after ring\n2": "two bl",
    }.items():
        sidecar.write_text(text)
        with pytest.raises(ValueError, match=words):
            with_claims(page)
    assert blocks_in("# nothing\n") == []
