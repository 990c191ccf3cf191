"""Which rows of the page of symptoms fit a log: `read_rows` reads the page, `rank` weighs its rows against a text."""

from __future__ import annotations

import builtins
import math
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet
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
HIDDEN = re.compile(r"<!--(.*?)-->")  # what else people call it
ENDING = re.compile(r"(?<=[a-z]{3})(?:ing|ed|es|er|ly|s|e)$")
TOLD = 40  # words: what is no longer is told in one's own words
IN_LOG, IN_WORDS = 0.15, 2.0  # weights of a word that is not part of a quote
NOTE = re.compile(r'.*NCCL INFO|\s*(?:\[?rank ?\d+\]?:)?\s*File "|\s*#\d+ |frame #\d+')


_EVERYDAY = """
    about after again all also always am an and any are as at be because been before but by can code could device
    devices did do does doing done each even every few first for from get gets getting give gives got gpu gpus had has
    have he here how if in into is it its just like make makes many may me more most much my need never new no not now
    of off on one only or other our out over problem same see seems set should show so some start still take takes
    than that the their them then there they this to too train training try trying until up use used uses using very
    want was way we well were what when where which while who why will with without work works would you your
"""
EVERYDAY = frozenset(_EVERYDAY.split())


@dataclass(frozen=True)
class Row:
    """A row of the page: its table, its four cells, the words that it quotes, and the stems of all that one may say."""

    group: str
    sees: str
    cause: str
    checks: str
    where: str
    quotes: tuple[Words, ...]
    plain: frozenset[str]


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
    rows = []
    group = above = ""
    for line in page.splitlines():
        if line.startswith("## "):
            group, above = line.removeprefix("## "), ""
        if "**1.**" in line:
            sees, cause, checks, where = (cell.strip() for cell in line.strip("| ").split(" | "))
            shown = HIDDEN.sub("", sees).strip()
            plain = words_of(re.sub("`[^`]+`", "", f"{above} {sees}"))
            rows.append(Row(group, shown, cause, checks, where, _quotes(shown), _stems(plain)))
        above = line if line.strip() and not line.startswith(("|", "#")) else above
    return rows


def rank(text: str, rows: list[Row]) -> list[Match]:
    """All rows, the best first.

    A quote counts by its longest run of words in one line, each word by how few rows have it, and less the more of the
    quote is missing; twice in a line that tells of an error, half as much again among the last lines, little in a frame
    or NCCL's INFO. A row's best quote counts whole, the next one half, a quarter, ... Its words one by one
    count a little. What is short may be told in one's own words: there those that no quote has, hidden ones too, count
    by their stems, and much.
    """
    rare = _rarities([{*words_of(f"{row.sees} {row.cause} {row.checks}")} for row in rows])
    rare_stems = _rarities([row.plain for row in rows])
    lines = _weighed_lines(text)
    pairs: dict[Words, list[tuple[Words, float]]] = {}
    for words, weight in lines.items():
        for key in _keys(words):
            pairs.setdefault(key, []).append((words, weight))
    said = {word for words, weight in lines.items() if weight > 1 for word in words}
    told = _stems(said) if len(words_of(text)) <= TOLD else frozenset()

    def plain(row: Row) -> float:
        stems = told & row.plain
        in_words = sum(rare_stems[stem] for stem in stems) if len(stems) > 1 else 0.0
        return IN_LOG * sum(rare[word] for word in said & {*words_of(row.sees)}) + IN_WORDS * in_words

    return sorted((_match(row, pairs, plain(row), rare) for row in rows), key=lambda match: -match.score)


def _quotes(cell: str) -> tuple[Words, ...]:
    """What stands in code font: two words or more, or one that is an error's own and not one of Python's."""
    found = [(quote, words_of(quote)) for quote in re.findall(r"`([^`]+)`", cell)]
    alone = {quote for quote, _ in found if SINGLE.fullmatch(quote) and not hasattr(builtins, quote)}
    return tuple(words for quote, words in found if len(words) > 1 or (words and (quote in alone or "-" in words[0])))


def _stems(words: Iterable[str]) -> frozenset[str]:
    """Words without their endings, and without those that everybody says."""
    return frozenset(ENDING.sub("", word) for word in words if word not in EVERYDAY)


def _rarities(rows: Sequence[AbstractSet[str]]) -> dict[str, float]:
    """The logarithm of all rows over those that have the word."""
    count = Counter(word for row in rows for word in row)
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


def _match(row: Row, pairs: dict[Words, list[tuple[Words, float]]], plain: float, rare: dict[str, float]) -> Match:
    found = sorted((_best_run(quote, pairs, rare) for quote in row.quotes), reverse=True)
    score = sum(value / 2**place for place, (value, _) in enumerate(found))
    return Match(row, score + plain, found[0][1] if found else ())


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
