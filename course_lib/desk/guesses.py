"""Guesses: the cell below each question that asks for a prediction, and whether what stands there is right.

A question that a machine can compare has one of several choices as its answer, or one number. What may be chosen, and
which of it is right, stands in `questions.json`, by page and by the id of the cell that asks. The course's own pages
have no cells for guesses, a desk's have. What a student writes there is theirs: it comes along when their page is
renewed, and makes the page no other page. The cell's metadata say what may be chosen, for `make lab`'s buttons, and
never which of it is right. A guess counts once the code of its question has run, so that no count gives an answer away.
"""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from course_lib.desk.cells import NotebookCell, source_of

SUFFIX = "-guess"  # ends the id of the cell for a guess; before it stands the id of the cell that asks
LABEL = "\N{LOWER RIGHT PENCIL} **Your guess:**"
NUMBER = re.compile(r"-?\d[\d,]*\.?\d*")
LETTER = re.compile(r"\(([a-z])\)")


@dataclass(frozen=True)
class Question:
    """A question with one right answer: one of `among`, or, if there is nothing to choose from, this number."""

    right: str | float
    among: tuple[str, ...] = ()

    def is_right(self, guess: str) -> bool | None:
        """Whether this guess is the right one; None if it names no choice, or several, or no number.

        >>> question = Question("(b)", ("(a)", "(b)", "(c)"))
        >>> question.is_right("I think (B)"), question.is_right("a"), question.is_right("a or b")
        (True, False, None)
        >>> Question(1200).is_right("about 1,200 bytes"), Question("0", ("8", "0", "fewer than 0")).is_right("8")
        (True, False)
        """
        if self.among:
            named = _named(guess, self.among)
            return named == self.right if named else None
        number = NUMBER.search(guess)
        return float(number[0].replace(",", "")) == self.right if number else None


def _named(guess: str, among: Sequence[str]) -> str:
    """The one of these choices that a guess names: in so many words, or alone in a sentence; empty if there is none."""
    said = " ".join(re.sub(r"[*_`]", "", guess).casefold().split()).strip(" .")
    letters = [choice for choice in among if LETTER.fullmatch(choice)]
    short = {choice[1]: choice for choice in letters}
    if said in short:
        return short[said]
    longest_first = sorted((choice.casefold() for choice in letters or among), key=len, reverse=True)
    found = set(re.findall(rf"(?<![\w.,])(?:{'|'.join(map(re.escape, longest_first))})(?!\w|[.,]\d)", said))
    named = [choice for choice in among if choice.casefold() in found]
    return named[0] if len(named) == 1 else ""


@functools.cache
def questions_of(page: str) -> dict[str, Question]:
    """The questions of the page of this name, such as "02_allreduce", by the id of the cell that asks."""
    said = json.loads(Path(__file__).with_name("questions.json").read_text(encoding="utf-8")).get(page, {})
    return {name: Question(each["right"], tuple(each.get("among", ()))) for name, each in said.items()}


def guess_in(source: str) -> str:
    r"""What somebody wrote into the cell for a guess; empty if they wrote nothing.

    >>> guess_in(LABEL + " three\n"), guess_in(LABEL), guess_in("three")
    ('three', '', 'three')
    """
    return source.replace(LABEL, "", 1).strip()


def judged(page: str, cells: Sequence[NotebookCell]) -> dict[str, bool]:
    """For each question of this page that counts by now, whether the guess in these cells of it is right.

    One counts when it is answered with a choice or a number, and the code between it and what tells its result has run.
    """
    found = {}
    for at, cell in enumerate(cells):
        name = cell.id.removesuffix(SUFFIX)
        question = questions_of(page).get(name) if cell.kind == "markdown" and cell.id != name else None
        right = question.is_right(guess_in(cell.source)) if question else None
        if right is not None and _has_run(cells[at + 1 : at + 2]):
            found[name] = right
    return found


def _has_run(following: Sequence[NotebookCell]) -> bool:
    """Whether the cell after a guess has run, if it is one of code; where a text tells the result, nothing need run."""
    return all(cell.kind != "code" or cell.count is not None for cell in following)


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
