"""On a desk a text that tells a result is folded, and nothing of it is lost; set-up code is folded, too."""

import json
import re
from pathlib import Path

import pytest

from course_lib.desk import lay
from course_lib.desk.versions import fold_code, fold_results

ROOT = Path(__file__).parents[2]
ASKED = "**Question.** How many? **Prediction.** One or two?"
FOLD = re.compile(r'<details class="result"><summary>Result: (.*?)</summary>\n\n(.*?)\n\n</details>\n*', re.DOTALL)
FOLD_BEGINS = re.compile(r'<details class="result"><summary>.*?</summary>')
CODE = {"cell_type": "code", "source": ["1"]}
LISTING = "Two:\n\n```python\nx = 1\n\n# no heading\n```\n\nSo it is."


def folded(*cells: str | None) -> list[list[tuple[str, str]]]:
    """What is folded of each of these texts, with what is to be done first; None is code."""
    page = [CODE if text is None else {"cell_type": "markdown", "source": [text]} for text in cells]
    fold_results(page)
    return [FOLD.findall("".join(cell["source"])) for cell in page]


RUN, GUESS = "run the cell above first", "guess first"


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("Two.", "Two."),
        ("### Sizes\n\n**What you see.** Two.\n\n> Take two.", "**What you see.** Two.\n\n> Take two."),
        (f"Two.\n\nAnd four.\n\n{ASKED}", "Two.\n\nAnd four."),
        ("Two.\n\n## Next\n\nWhat is a ring?", "Two."),
        (LISTING, LISTING),
    ],
)
def test_a_result_is_folded_up_to_the_next_heading_or_question(text: str, result: str) -> None:
    assert folded(ASKED, None, text)[2] == [(RUN, result)]


def test_what_stands_apart_from_a_question_or_further_below_is_not_folded() -> None:
    assert folded(
        "Rings.", None, "They turn.", ASKED, None, "Two.", "Now trees.", "## Trees\n\nThey grow.", None, "So."
    ) == [
        *[[]] * 5,
        [(RUN, "Two.")],
        *[[]] * 4,
    ]


def test_a_result_right_below_its_question_asks_for_the_guess_and_one_without_a_question_for_the_run() -> None:
    assert folded(ASKED, "Two.", None, "## Next\n\nText.") == [[], [(GUESS, "Two.")], [], []]
    assert folded("Rings.", None, "**What you see.** They turn.")[2] == [(RUN, "**What you see.** They turn.")]


@pytest.mark.parametrize(
    ("cell", "hidden"),
    [
        ({"id": "imports"}, True),
        ({"id": "setup", "metadata": {"tags": ["setup"]}}, True),
        ({"id": "draws", "metadata": {"tags": ["hide-input"]}}, True),
        ({"id": "given", "metadata": {"tags": ["setup"]}}, False),
        ({"id": "worker", "metadata": {"tags": ["setup", "given"]}}, False),
        ({"id": "parameters", "metadata": {"tags": ["parameters"]}}, False),
    ],
)
def test_code_that_sets_up_or_draws_is_folded_and_what_is_given_is_not(cell: dict, hidden: bool) -> None:
    cell.setdefault("metadata", {})
    fold_code(cell)
    assert cell["metadata"].get("jupyter", {}).get("source_hidden", False) == hidden


def words(text: str) -> list[str]:
    return FOLD_BEGINS.sub("", text).replace("</details>", " ").split()


def test_no_word_of_the_real_pages_is_lost_and_no_result_stands_open(tmp_path: Path) -> None:
    lay(tmp_path / "desk")
    for path in sorted((tmp_path / "desk/notebooks").glob("*.ipynb")):
        course = json.loads((ROOT / "notebooks" / path.name).read_text())["cells"]
        texts = {cell["id"]: "".join(cell["source"]) for cell in course}
        for cell in json.loads(path.read_text())["cells"]:
            text = "".join(cell["source"])
            assert "**What you see.**" not in FOLD_BEGINS.split(text)[0], (path.name, cell["id"])
            if cell["id"] in texts and "Start page" not in text:
                assert words(text) == words(texts[cell["id"]]), (path.name, cell["id"])
