"""A student's guesses have a place on each page of a desk, and come along when the page is renewed."""

import json
from pathlib import Path

import nbformat
import pytest

from course_lib.desk import lay, outline, update
from course_lib.desk.guesses import LABEL, guess_in, is_guess
from course_lib.desk.start import cells_run

from .conftest import Course, sources

PAGE = "notebooks/01_rings.ipynb"
NEWER = "notebooks/01_rings.newer.ipynb"
ASKED = "**Question.** How many? **Prediction.** A number?"
CELLS = ["# 01 · Rings", ASKED, ("ring()", 3), "**Notice.** Three. **Prediction.** And now?", ("ring(2)", 4)]


@pytest.fixture
def asking(course: Course) -> Course:
    course.write(PAGE, CELLS)
    course.lay()
    return course


def write(course: Course, page: str = PAGE, run: bool = False, **texts: str) -> None:
    """Write into the cells of these numbers, and run the others, as a student does."""
    path = course.desk / page
    notebook = json.loads(path.read_text())
    for cell in notebook["cells"]:
        cell["source"] = texts.get(cell["id"].replace("-", "_"), cell["source"])
        if run and cell["cell_type"] == "code":
            cell["outputs"] = [{"output_type": "stream", "name": "stdout", "text": "9"}]
    path.write_text(json.dumps(notebook))


def guessed(course: Course, page: str = PAGE) -> list[str]:
    """What stands in the places of the page on the desk, behind their labels."""
    cells = json.loads(course.on_desk()[page])["cells"]
    return [guess_in("".join(cell["source"])) for cell in cells if is_guess(cell)]


def ids(text: str) -> list[str]:
    return [cell["id"] for cell in json.loads(text)["cells"]]


def test_below_each_prediction_is_a_place_with_a_label_and_the_course_has_none(asking: Course) -> None:
    assert ids(asking.on_desk()[PAGE]) == ["0", "1", "1-guess", "2", "3", "3-guess", "4"]
    assert [sources(asking.on_desk()[PAGE])[place] for place in (2, 5)] == [LABEL, LABEL]
    assert "guess" not in (asking.folder / PAGE).read_text()
    assert asking.lay() == []


def test_a_guess_comes_along_when_the_page_is_renewed(asking: Course) -> None:
    write(asking, **{"3_guess": "four,\nI think"})
    assert asking.lay() == []
    for words in ("Rings, better", "Rings, best"):
        asking.write(PAGE, [f"# 01 · {words}", *CELLS[1:]])
        assert asking.lay() == [f"brought up to date: {PAGE}"]
        assert guessed(asking) == ["", "four,\nI think"]
        assert sources(asking.on_desk()[PAGE])[5].startswith(LABEL)
    assert asking.lay() == []


def test_a_page_that_was_run_stays_and_the_newer_one_has_its_guesses_too(asking: Course) -> None:
    write(asking, run=True, **{"1_guess": "two"})
    asking.write(PAGE, ["# 01 · Rings, better", *CELLS[1:]])
    assert asking.lay()[0].endswith(f"lies beside it: {NEWER}")
    assert [guessed(asking, page)[0] for page in (PAGE, NEWER)] == ["two", "two"]
    write(asking, NEWER, **{"3_guess": "five"})
    asking.write(PAGE, ["# 01 · Rings, best", *CELLS[1:]])
    asking.lay()
    assert guessed(asking, NEWER) == ["two", "five"]


def test_a_guess_comes_along_from_a_page_that_an_editor_marked_and_beside_an_odd_one(asking: Course) -> None:
    write(asking, **{"3_guess": "four", "1_guess": None})
    path = asking.desk / PAGE
    path.write_bytes(path.read_text().encode("utf-8-sig"))
    asking.write(PAGE, ["# 01 · Rings, better", *CELLS[1:]])
    assert asking.lay() == [f"brought up to date: {PAGE}"]
    assert guessed(asking) == ["", "four"]


def test_a_guess_that_has_no_place_any_more_keeps_its_page(asking: Course) -> None:
    write(asking, **{"3_guess": "four"})
    asking.write(PAGE, CELLS[:3])
    assert asking.lay()[0].startswith(f"{PAGE} is yours and stays")
    assert "four" in sources(asking.on_desk()[PAGE])


def test_a_place_that_the_student_removed_comes_back_and_other_words_make_the_page_theirs(asking: Course) -> None:
    page = json.loads(asking.on_desk()[PAGE])
    (asking.desk / PAGE).write_text(json.dumps(page | {"cells": [c for c in page["cells"] if not is_guess(c)]}))
    asking.write(PAGE, ["# 01 · Rings, better", *CELLS[1:]])
    assert asking.lay() == [f"brought up to date: {PAGE}"]
    assert "3-guess" in ids(asking.on_desk()[PAGE])
    write(asking, **{"1": "mine", "1_guess": "mine too"})
    asking.write(PAGE, CELLS)
    assert asking.lay()[0].startswith(f"{PAGE} is yours and stays")


def test_what_is_guessed_while_the_desk_is_laid_stays(asking: Course, monkeypatch: pytest.MonkeyPatch) -> None:
    asking.write(PAGE, ["# 01 · Rings, better", *CELLS[1:]])
    read = update.Manifest.write

    def somebody_saves(*args) -> None:
        monkeypatch.undo()
        read(*args)
        write(asking, **{"1_guess": "in time"})

    monkeypatch.setattr(update.Manifest, "write", somebody_saves)
    asking.lay()
    asking.lay()
    assert (sources(asking.on_desk()[PAGE])[1], guessed(asking)[0]) == (ASKED, "in time")
    assert "better" in sources(asking.on_desk()[PAGE])[0]


def test_code_that_only_draws_is_folded_on_a_desk_and_counts_as_a_cell_to_run(asking: Course) -> None:
    page = json.loads((asking.folder / PAGE).read_text())
    drawing = {"cell_type": "code", "id": "drawing", "metadata": {"tags": ["hide-input"]}, "source": ["draw()"]}
    page["cells"].insert(3, drawing | {"outputs": [], "execution_count": 2})
    (asking.folder / PAGE).write_text(json.dumps(page))
    asking.lay()
    cells = {cell["id"]: cell for cell in json.loads(asking.on_desk()[PAGE])["cells"]}
    assert [name for name, cell in cells.items() if cell["metadata"].get("jupyter", {}).get("source_hidden")] == [
        "drawing"
    ]
    assert cells_run(asking.desk, outline(asking.folder)[1]) == (0, 3)


def test_the_real_pages_are_valid_notebooks_with_a_place_below_each_prediction(tmp_path: Path) -> None:
    lay(tmp_path / "desk")
    for path in sorted((tmp_path / "desk/notebooks").glob("*.ipynb")):
        notebook = nbformat.read(path, as_version=4)
        nbformat.validate(notebook)
        asked = [cell.id for cell in notebook.cells if "**Prediction.**" in cell.source]
        assert [cell.id for cell in notebook.cells if is_guess(cell)] == [f"{each}-guess" for each in asked]
    assert not any("-guess" in path.read_text() for path in (Path(__file__).parents[2] / "notebooks").glob("*.ipynb"))
