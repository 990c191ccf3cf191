"""No page holds an answer to its chapter's exercises: each function on it is handed in for each of them.

Functions that a cell defines, and those of the library whose source a cell shows.
"""

import ast
import json
import re
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from one_token import _cases, _passed

from course_lib.grading.exercise import Exercise
from course_lib.grading.exercises import chapters, exercises_of

NOTEBOOKS = Path(__file__).parents[2] / "notebooks"


def functions_on(page: Path) -> dict[str, str]:
    """Each function that a page defines or shows -> its source, behind the page's imports and what stood before.

    What stood before may need a name that only the page has, as in a default; then it is left out.
    """
    found, before = {}, []
    for cell in json.loads(page.read_text(encoding="utf-8"))["cells"]:
        if cell["cell_type"] == "code":
            for name, source in _definitions("\n".join([_code(cell["source"]), *_shown(cell)])):
                if name:
                    found[name] = "\n".join([*before, source])
                before.append(f"try:\n{textwrap.indent(source, '    ')}\nexcept Exception:\n    pass")
    return found


def _code(source: list[str]) -> str:
    return "\n".join(line for line in "".join(source).splitlines() if not line.lstrip().startswith(("%", "!")))


def _shown(cell: dict[str, Any]) -> Iterator[str]:
    """What a cell prints, where that is Python that defines something."""
    for output in cell.get("outputs", ()):
        text = "".join(output.get("data", {}).get("text/plain", output.get("text", "")))
        if re.search(r"^(?:@.+\n)*def ", text, re.MULTILINE):
            try:
                ast.parse(text)
            except SyntaxError:  # a sentence that speaks of one
                continue
            yield text


def _definitions(source: str) -> Iterator[tuple[str, str]]:
    """(name, source) of what a cell defines; of an import no name."""
    for node in ast.parse(source).body:
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            yield "", ast.unparse(node)
        if isinstance(node, ast.FunctionDef):
            yield node.name, ast.unparse(node)


def as_answer(name: str, source: str, exercise: Exercise) -> str:
    """A page's function as a student would paste it, under the exercise's name."""
    return f"{source}\n\n{exercise.function} = {name}\n"


def given_away(page: Path, exercise: Exercise) -> list[str]:
    """The page's functions that are right answers to an exercise."""
    cases = _cases(exercise, 0)
    answers = {name: as_answer(name, source, exercise) for name, source in functions_on(page).items()}
    return [name for name, source in answers.items() if _passed(exercise, source, [cases])]


PAGES = [page for chapter in chapters() for page in sorted(NOTEBOOKS.glob(f"{chapter}_*.ipynb"))]


@pytest.mark.timeout(600)
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_no_function_of_a_page_is_an_answer(page: Path) -> None:
    found = {exercise.id: given_away(page, exercise) for exercise in exercises_of(page.stem[:2])}
    assert {name: functions for name, functions in found.items() if functions} == {}


def test_an_answer_on_a_page_is_seen(tmp_path: Path) -> None:
    from course_lib.grading.exercises.sources import program

    [first, *_] = exercises_of("04")
    answer = program(first.id)[1].replace(f"def {first.function}(", "def of_the_page(")
    others = ["def other():\n", "    pass\n", "def with_a_default(of=what_only_the_page_knows):\n", "    pass"]
    cells = [{"cell_type": "code", "source": others}, {"cell_type": "code", "source": [answer]}]
    page = tmp_path / "04_page.ipynb"
    page.write_text(json.dumps({"cells": cells}))
    assert given_away(page, first) == ["of_the_page"]
