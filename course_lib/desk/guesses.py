"""The place for a student's guess: a Markdown cell with a label below each question that asks for a prediction.

The course's own pages have none; a desk's have. What a student writes there is theirs, and comes along when their page
is renewed; it makes the page no other page. The cell's metadata say what may be chosen, for `make lab`'s buttons.
"""

from __future__ import annotations

import json
from typing import Any

from course_lib.desk.cells import source_of
from course_lib.desk.questions import LABEL, SUFFIX, guess_in, questions_of

__all__ = ["bring_along", "guesses", "has_places", "is_guess", "with_places"]

ASKS = "**Prediction.**"


def with_places(cells: list[dict[str, Any]], page: str = "") -> list[dict[str, Any]]:
    """The cells of the page of this name, such as "02_allreduce", with a place for a guess below each that asks."""
    laid = []
    for cell in cells:
        laid.append(cell)
        if cell["cell_type"] == "markdown" and ASKS in "".join(cell["source"]) and "id" in cell:
            laid.append(_place(cell["id"], page))
    return laid


def _place(asks: str, page: str) -> dict[str, Any]:
    question = questions_of(page).get(asks)
    kind = {"among": question.among} if question and question.among else {"number": True} if question else {}
    return {"cell_type": "markdown", "id": asks + SUFFIX, "metadata": {"guess": kind}, "source": [LABEL]}


def is_guess(cell: dict[str, Any]) -> bool:
    """Whether this is the place for a guess, written on or not."""
    return cell.get("cell_type") == "markdown" and str(cell.get("id", "")).endswith(SUFFIX)


def guesses(text: str | None) -> dict[str, dict[str, Any]]:
    """What a student guessed on the notebook of this text: the cell's id -> the cell. None of what is no notebook."""
    try:
        cells = json.loads((text or "").removeprefix("\ufeff"))["cells"]
        those = [cell for cell in cells if isinstance(cell, dict) and is_guess(cell)]
    except (KeyError, RecursionError, TypeError, ValueError):
        return {}
    return {cell["id"]: cell for cell in those if guess_in(source_of(cell))}


def has_places(text: str, guessed: dict[str, dict[str, Any]]) -> bool:
    """Whether the course's notebook of this text has a place for each of these guesses."""
    return not guessed or guessed.keys() <= {cell.get("id") for cell in json.loads(text)["cells"]}


def bring_along(text: str, guessed: dict[str, dict[str, Any]]) -> str:
    """The text of the course's notebook with these guesses in their places; those that have none stay out."""
    if not guessed:
        return text
    notebook = json.loads(text)
    for cell in notebook["cells"]:
        if cell.get("id") in guessed:
            words = guess_in(source_of(guessed[cell["id"]]))
            cell["source"] = f"{LABEL} {words}".splitlines(keepends=True)
    return json.dumps(notebook, indent=1, ensure_ascii=False, sort_keys=True) + "\n"
