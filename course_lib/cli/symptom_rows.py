"""The rows of the page of symptoms, and what their words weigh: plain data, which the book's box gets as it is."""

from __future__ import annotations

import builtins
import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from course_lib.cli.symptom_words import STOP, Words, concepts, words_of

__all__ = ["Row", "Weights", "read_rows", "weigh"]

SINGLE = re.compile(r"[\w.]*[A-Z]\w*")  # one word that may stand alone: a class or a constant, not `rank`
_CODE = re.compile("`[^`]+`")
HIDDEN = re.compile(r"<!--(.*?)-->")  # what else people call it, and what else is quoted, in code font
SEEN = 1.5  # weight of a word in what is seen
SAID = 1.0  # of one in its comment
BESIDE = 0.2  # of one in the cause or the checks
OFTEN = 0.1  # weight of a word that errors of any program have
_OFTEN = """
    such file directory exists found object attribute list index range bounds expected value type name defined argument
"""
_ANY_ERRORS = STOP | frozenset(_OFTEN.split())


@dataclass(frozen=True)
class Row:
    """A row of the page: its table, its four cells, the words that it quotes, and how much each other one says."""

    group: str
    sees: str
    cause: str
    checks: str
    where: str
    quotes: tuple[Words, ...]
    told: Mapping[str, float]


@dataclass(frozen=True)
class Weights:
    """How much a word tells: in a quote, in a sentence, and in a sentence for each row."""

    quoted: dict[str, float]
    told: dict[str, float]
    by_row: list[dict[str, float]]
    unknown: float


def read_rows(page: str) -> list[Row]:
    """The rows of all tables of the page."""
    rows = []
    group = above = ""
    for line in page.splitlines():
        if line.startswith("## "):
            group, above = line.removeprefix("## "), ""
        if "**1.**" in line:
            sees, cause, checks, where = (cell.strip() for cell in line.strip("| ").split(" | "))
            shown = HIDDEN.sub("", sees).strip()
            told = dict.fromkeys(concepts(f"{cause} {checks}"), BESIDE)
            told |= dict.fromkeys(concepts(_CODE.sub("", f"{above} {sees}")), SAID)
            told |= dict.fromkeys(concepts(_CODE.sub("", f"{group} {shown}")), SEEN)
            rows.append(Row(group, shown, cause, checks, where, _quotes(sees), told))
        above = line if line.strip() and not line.startswith(("|", "#")) else above
    return rows


def weigh(rows: Sequence[Row]) -> Weights:
    """A word weighs more the fewer rows have it, and less if any program's errors do, or only a row's other cells."""
    quoted = _rarities([{word for quote in row.quotes for word in quote} for row in rows])
    quoted = {word: weight * (OFTEN if word in _ANY_ERRORS else 1.0) for word, weight in quoted.items()}
    told = {word: math.sqrt(rarity) for word, rarity in _rarities([row.told.keys() for row in rows]).items()}
    by_row = [{word: told[word] * weight for word, weight in row.told.items()} for row in rows]
    return Weights(quoted, told, by_row, math.sqrt(math.log(1 + len(rows))))


def _rarities(rows: Sequence[AbstractSet[str]]) -> dict[str, float]:
    count = Counter(word for row in rows for word in row)
    return {word: math.log(1 + len(rows) / n) for word, n in count.items()}


def _quotes(cell: str) -> tuple[Words, ...]:
    """What stands in code font: two words or more, or one that is an error's own and not one of Python's."""
    found = [(quote, words_of(quote)) for quote in re.findall(r"`([^`]+)`", cell)]
    alone = {quote for quote, _ in found if SINGLE.fullmatch(quote) and not hasattr(builtins, quote)}
    return tuple(words for quote, words in found if len(words) > 1 or (words and (quote in alone or "-" in words[0])))
