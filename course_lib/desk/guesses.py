"""The place for a student's guess: an empty Markdown cell below each question that asks for a prediction.

The course's own pages have none; a desk's have. What a student writes there is theirs, and comes along when their page
is renewed; it makes the page no other page.
"""

from __future__ import annotations

import json
from typing import Any

from course_lib.desk.cells import source_of

__all__ = ["bring_along", "guesses", "has_places", "is_guess", "with_places"]

ASKS = "**Prediction.**"
SUFFIX = "-guess"


def with_places(cells: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The cells of a page, with an empty one below each that asks for a prediction."""
    laid = []
    for cell in cells:
        laid.append(cell)
        if cell["cell_type"] == "markdown" and ASKS in "".join(cell["source"]) and "id" in cell:
            laid.append({"cell_type": "markdown", "id": cell["id"] + SUFFIX, "metadata": {}, "source": []})
    return laid


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
    return {cell["id"]: cell for cell in those if source_of(cell).strip()}


def has_places(text: str, guessed: dict[str, dict[str, Any]]) -> bool:
    """Whether the course's notebook of this text has a place for each of these guesses."""
    return not guessed or guessed.keys() <= {cell.get("id") for cell in json.loads(text)["cells"]}


def bring_along(text: str, guessed: dict[str, dict[str, Any]]) -> str:
    """The text of the course's notebook with these guesses in their places; those that have none stay out."""
    if not guessed:
        return text
    notebook = json.loads(text)
    notebook["cells"] = [guessed.get(cell.get("id"), cell) for cell in notebook["cells"]]
    return json.dumps(notebook, indent=1, ensure_ascii=False, sort_keys=True) + "\n"
