"""The page of the chapter on all-reduce keeps the rhythm of the course and its pictures need no kernel."""

import itertools
from pathlib import Path

import nbformat
import pytest

PATH = Path(__file__).parents[1] / "notebooks" / "02_allreduce.ipynb"


@pytest.fixture(scope="module")
def cells():
    return nbformat.read(PATH, as_version=4).cells


def outputs(cell):
    return [output.data for output in cell.outputs if "data" in output]


def test_every_code_cell_is_introduced_by_a_sentence(cells):
    pairs = [(a, b) for a, b in itertools.pairwise(cells) if a.cell_type == b.cell_type == "code"]
    assert [(a.id, b.id) for a, b in pairs] == []


def test_a_code_cell_has_at_most_fifteen_lines_besides_its_tables_and_imports(cells):
    lengths = {cell.id: len(cell.source.splitlines()) for cell in cells if cell.cell_type == "code"}
    assert {name: length for name, length in lengths.items() if length > 18} == {}


def test_the_first_code_cell_holds_the_parameters_and_the_second_warms_up(cells):
    first, second = [cell for cell in cells if cell.cell_type == "code"][:2]
    assert first.metadata.tags == ["parameters"]
    assert "world_size = 4" in first.source
    assert "warm_up()" in second.source


def test_every_picture_and_table_says_where_its_numbers_are_from(cells):
    origins = ("measured", "emulated", "simulated", "computed", "published")
    shown = [(c.id, d["text/plain"]) for c in cells if c.cell_type == "code" for d in outputs(c) if len(d) > 1]
    unlabeled = [
        name
        for name, text in shown
        if not any(word in text for word in origins) and not text.startswith(("def ", "AllReduceExplorer"))
    ]
    assert len(shown) > 25
    assert unlabeled == []


def test_the_explorers_leave_a_picture_and_words_where_there_is_no_kernel(cells):
    explorers = [cell for cell in cells if cell.id in ("explorer", "own-function")]
    assert len(explorers) == 2
    for cell in explorers:
        (shown,) = outputs(cell)
        assert "image/png" in shown
        assert "At step" in shown["text/plain"]
