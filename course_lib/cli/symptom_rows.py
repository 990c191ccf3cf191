"""Which rows of the page of symptoms fit a log: `read_rows` reads the page, `rank` weighs its rows against a text."""

from __future__ import annotations

import builtins
import math
import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import pairwise

__all__ = ["ENOUGH", "Match", "Row", "rank", "read_rows", "words_of"]

Words = tuple[str, ...]
ENOUGH = (
    9.0  # the score from which a row is named: a quote of three rare words, or two in a line that tells of an error
)
LAST_LINES = 20
SINGLE = re.compile(r"[\w.]*[A-Z]\w*")  # one word that may stand alone: a class or a constant, not `rank`
NOISE = re.compile(r"https?://\S+|0x[0-9a-f]+|\[?rank ?\d+\]?:|(?:[\w.~-]*/){2,}|\x1b\[[\d;]*m", re.I)
WORD = re.compile(r"(?:exit|return|exit_)?(?:code|signal)\s*[:=]?\s*-?\d+|[a-z]{2,}")
TELLS = re.compile(r"error|exception|warn|fatal|critical|abort|assert|fail|killed|signal|time[d ]?out", re.I)
NOTE = re.compile(r'.*NCCL INFO|\s*(?:\[?rank ?\d+\]?:)?\s*File "|\s*#\d+ |frame #\d+')


@dataclass(frozen=True)
class Row:
    """A row of the page: the table that it stands in, its four cells, and the words that it quotes."""

    group: str
    sees: str
    cause: str
    checks: str
    where: str
    quotes: tuple[Words, ...]


@dataclass(frozen=True)
class Match:
    """How well a row fits, and the words of the text that say so."""

    row: Row
    score: float
    because: Words


def words_of(text: str) -> Words:
    """Words without addresses, folders, ranks and numbers; a signal's or an exit code's number stays.

    >>> words_of('[rank3]: RuntimeError at 0x7f3a in /opt/lib/c10d.cpp:1275 (exitcode: -9)')
    ('runtimeerror', 'at', 'in', 'cpp', 'exitcode-9')
    """
    return tuple(re.sub(r"[\s:=]", "", word) for word in WORD.findall(NOISE.sub(" ", text).lower()))


def read_rows(page: str) -> list[Row]:
    """The rows of all tables of the page."""
    rows, group = [], ""
    for line in page.splitlines():
        group = line.removeprefix("## ") if line.startswith("## ") else group
        if "**1.**" in line:
            sees, cause, checks, where = (cell.strip() for cell in line.strip("| ").split(" | "))
            rows.append(Row(group, sees, cause, checks, where, _quotes(sees)))
    return rows


def rank(text: str, rows: list[Row]) -> list[Match]:
    """All rows, the best first.

    A quote counts by its longest run of words in one line, each word by how few rows have it, and less the more of the
    quote is missing; twice in a line that tells of an error, half as much again among the last lines, little in a frame
    or NCCL's INFO. A row's best quote counts whole, the next one half, a quarter, ... What it says in plain words
    counts a little.
    """
    rare = _rarities(rows)
    lines = _weighed_lines(text)
    pairs: dict[Words, list[tuple[Words, float]]] = {}
    for words, weight in lines.items():
        for key in _keys(words):
            pairs.setdefault(key, []).append((words, weight))
    said = {word for words, weight in lines.items() if weight > 1 for word in words}
    return sorted((_match(row, pairs, said, rare) for row in rows), key=lambda match: -match.score)


def _quotes(cell: str) -> tuple[Words, ...]:
    """What stands in code font: two words or more, or one that is an error's own and not one of Python's."""
    found = [(quote, words_of(quote)) for quote in re.findall(r"`([^`]+)`", cell)]
    alone = {quote for quote, _ in found if SINGLE.fullmatch(quote) and not hasattr(builtins, quote)}
    return tuple(words for quote, words in found if len(words) > 1 or (words and (quote in alone or "-" in words[0])))


def _rarities(rows: list[Row]) -> dict[str, float]:
    """The logarithm of all rows over those that have the word."""
    count = Counter(word for row in rows for word in set(words_of(f"{row.sees} {row.cause} {row.checks}")))
    return {word: math.log(len(rows) / n) for word, n in count.items()}


def _weighed_lines(text: str) -> dict[Words, float]:
    """Each line once, as words, with its weight: what many ranks say counts as said by one."""
    lines = [line for line in text.splitlines() if line.strip()]
    weights: dict[Words, float] = {}
    for place, line in enumerate(lines, start=LAST_LINES - len(lines)):
        weight = (2.0 if TELLS.search(line) else 1.0) * (1.5 if place >= 0 else 1.0)
        words = words_of(line)
        weights[words] = max(weights.get(words, 0.0), 0.3 if NOTE.match(line) else weight)
    return weights


def _keys(words: Words) -> Iterable[Words]:
    """The words one by one and in pairs, by which a line is found."""
    return {*((word,) for word in words), *pairwise(words)}


def _match(row: Row, pairs: dict[Words, list[tuple[Words, float]]], said: set[str], rare: dict[str, float]) -> Match:
    found = sorted((_best_run(quote, pairs, rare) for quote in row.quotes), reverse=True)
    score = sum(value / 2**place for place, (value, _) in enumerate(found))
    plain = sum(rare[word] for word in said & {*words_of(row.sees)})
    return Match(row, score + 0.15 * plain, found[0][1] if found else ())


def _best_run(
    quote: Words, pairs: dict[Words, list[tuple[Words, float]]], rare: dict[str, float]
) -> tuple[float, Words]:
    """The weight of the quote's longest run of words in a line, and the run."""
    best: tuple[float, Words] = (0.0, ())
    keys = [quote] if len(quote) == 1 else pairwise(quote)
    for line, weight in {each for key in keys for each in pairs.get(key, [])}:
        run = SequenceMatcher(None, quote, line, autojunk=False).find_longest_match()
        words = quote[run.a : run.a + run.size]
        best = max(best, (weight * sum(rare[word] for word in words) * (run.size / len(quote)) ** 2, words))
    return best
