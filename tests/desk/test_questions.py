"""Guesses that a machine can compare: what is right stands in the course, what was right is counted on the desk."""

import json
from pathlib import Path

import pytest

from course_lib.desk import lay, outline, write_start_page
from course_lib.desk.cells import cells_in
from course_lib.desk.guesses import LABEL, Question, judged, questions_of
from course_lib.desk.start import START, guesses_right

NOTEBOOKS = Path(__file__).parents[2] / "notebooks"
PAGES = [Path(chapter.page).stem for chapter in outline()]
KEYS = json.loads((Path(__file__).parents[2] / "course_lib/desk/questions.json").read_text())
AFTER = 6  # cells in which the result is told


def cells_of(page: str) -> list[dict]:
    return json.loads((NOTEBOOKS / f"{page}.ipynb").read_text())["cells"]


def plain(text: str) -> str:
    return text.casefold().replace("*", "")


@pytest.mark.parametrize("page", PAGES)
def test_each_question_of_a_lecture_has_its_right_answer(page: str) -> None:
    asked = [cell["id"] for cell in cells_of(page) if "**Prediction.**" in "".join(cell["source"])]
    assert list(questions_of(page)) == asked


@pytest.mark.parametrize("page", PAGES)
def test_the_choices_stand_in_the_question_and_the_right_one_below_it(page: str) -> None:
    cells = cells_of(page)
    for name, key in KEYS[page].items():
        at = next(number for number, cell in enumerate(cells) if cell["id"] == name)
        asks = plain("".join(cells[at]["source"]).rpartition("**Question.**")[2])
        assert [choice for choice in key.get("among", ()) if plain(choice) not in asks] == [], name
        assert key["right"] in key.get("among", [key["right"]])
        below = plain(json.dumps(cells[at + 1 : at + 1 + AFTER], ensure_ascii=False))
        assert plain(key.get("seen", str(key["right"]))).strip("()") in below, name


def test_each_choice_is_told_from_the_others() -> None:
    for question in (question for page in PAGES for question in questions_of(page).values()):
        choices = question.among or (f"{question.right}", f"{question.right}5")
        for choice in choices:
            for said in (choice, f"I think {choice}.", choice.upper()):
                assert question.is_right(said) == (choice == f"{question.right}"), (question, said)
        assert question.is_right("who knows") is None
        assert question.is_right(" or ".join(choices[:2])) is None or not question.among, question


@pytest.mark.parametrize(
    ("guess", "right"), [("30", True), ("30%", True), ("300", None), ("3", None), ("0.30", None), ("30.5", None)]
)
def test_a_number_is_no_part_of_another(guess: str, right: bool | None) -> None:
    assert Question("30", ("30", "50")).is_right(guess) is right


def test_a_guess_counts_once_its_code_has_run_and_what_names_no_choice_never(tmp_path: Path) -> None:
    desk, chapter = tmp_path / "desk", outline()[0]
    lay(desk)
    path = desk / chapter.page
    page = json.loads(path.read_text())
    guesses = {"alone-question": "one", "ring-question": "its own number", "best-question": "no idea", "helps": "10 s"}
    for cell in page["cells"]:
        if words := guesses.get(cell["id"].removesuffix("-guess")) if cell["id"].endswith("-guess") else None:
            cell["source"] = f"{LABEL} {words}"
    path.write_text(json.dumps(page))
    assert (judged(path.stem, cells_in(path.read_bytes())), guesses_right(desk, chapter)) == ({}, "")
    for before, cell in zip(page["cells"], page["cells"][1:], strict=False):
        if before["id"] in ("alone-question-guess", "ring-question-guess", "best-question-guess"):
            cell["execution_count"] = 1
    path.write_text(json.dumps(page))
    assert judged(path.stem, cells_in(path.read_bytes())) == {"alone-question": True, "ring-question": False}
    assert guesses_right(desk, chapter) == "1 of 2"
    write_start_page(desk)
    assert "| 1 of 2 |" in (desk / START).read_text()


def test_a_desk_says_what_may_be_chosen_and_never_what_is_right(tmp_path: Path) -> None:
    lay(tmp_path / "desk")
    for page in PAGES:
        cells = json.loads((tmp_path / f"desk/notebooks/{page}.ipynb").read_text())["cells"]
        places = {cell["id"].removesuffix("-guess"): cell["metadata"] for cell in cells if "guess" in cell["metadata"]}
        wanted = {n: {"among": list(q.among)} if q.among else {"number": True} for n, q in questions_of(page).items()}
        assert {name: data["guess"] for name, data in places.items()} == wanted
