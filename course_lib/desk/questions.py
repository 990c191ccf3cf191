"""The questions of the pages whose guesses a machine can compare: one of several choices, or one number.

What may be chosen, and which of it is right, stands in `questions.json`, by page and by the id of the cell that asks.
On a desk the cell for the guess knows the choices, and never which of them is right. A guess counts once the code of
its question has run, so that no count gives an answer away.
"""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from course_lib.desk.cells import NotebookCell

__all__ = ["LABEL", "SUFFIX", "Question", "guess_in", "judged", "questions_of"]

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
