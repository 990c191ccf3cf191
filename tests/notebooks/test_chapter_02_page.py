"""The page of the chapter on all-reduce keeps the rhythm of the course and its pictures need no kernel."""

import re
from pathlib import Path

import nbformat
import pytest

PATH = Path(__file__).parents[2] / "notebooks" / "02_allreduce.ipynb"
ASKS = ("Write", "Put", "Guess", "Read", "Follow", "Count", "Name", "Add", "A rule for your head", "Two numbers")


@pytest.fixture(scope="module")
def cells():
    return nbformat.read(PATH, as_version=4).cells


def outputs(cell):
    return [output.data for output in cell.outputs if "data" in output]


def test_every_picture_and_table_says_where_its_numbers_are_from(cells):
    origins = ("measured", "emulated", "simulated", "computed", "published")
    shown = [(c.id, d["text/plain"]) for c in cells if c.cell_type == "code" for d in outputs(c) if len(d) > 1]
    unlabeled = [
        name
        for name, text in shown
        if not any(word in text for word in origins) and not text.startswith(("def ", "@", "AllReduceExplorer"))
    ]
    assert len(shown) > 25
    assert unlabeled == []


def test_the_explorers_leave_a_picture_and_words_where_there_is_no_kernel(cells):
    explorers = [cell for cell in cells if cell.id in ("explorer", "own-function")]
    assert len(explorers) == 2
    for cell in explorers:
        shown, words = outputs(cell)
        assert "image/png" in shown
        assert "At step" in shown["text/plain"]
        assert "At step" in words["text/html"]


@pytest.mark.parametrize("name", ["02_allreduce"])
def test_a_prediction_asks_and_its_answer_is_folded_away_or_comes_after_the_run(name):
    pages = nbformat.read(PATH.with_name(f"{name}.ipynb"), as_version=4).cells
    text = "\n\n".join(re.sub("<details>.*?</details>", "", cell.source, flags=re.DOTALL) for cell in pages)
    predictions = [part.split("\n\n")[0].strip() for part in text.split("**Prediction.**")[1:]]
    assert len(predictions) > 10
    assert [p for p in predictions if "?" not in p and not p.startswith(ASKS)] == []


def test_markdown_in_a_fold_stands_between_blank_lines_so_that_every_reader_renders_it(cells):
    folds = [fold for cell in cells for fold in re.findall("<details>.*?</details>", cell.source, re.DOTALL)]
    in_markdown = [fold for fold in folds if "*" in fold or "`" in fold]
    assert len(in_markdown) >= 7
    assert [fold for fold in in_markdown if "</summary>\n\n" not in fold or "\n\n</details>" not in fold] == []
