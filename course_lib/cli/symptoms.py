"""`course symptoms`: the rows of the page of symptoms that fit a log.

The rows and their words' weights are plain data, which the search box of the book gets as it is.
"""

from __future__ import annotations

import builtins
import math
import re
import sys
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import IO

import click

from course_lib.cli.symptom_words import (
    KINDS,
    STOP,
    Words,
    concepts,
    is_sentence,
    lines_of,
    pairs_of,
    tells_of_an_error,
    timed_out,
    weight_of,
    words_of,
)

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
class SymptomRow:
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
    """Weights of words for the ranking: in a quote, in a sentence, and in a sentence for each row."""

    quoted: dict[str, float]
    told: dict[str, float]
    by_row: list[dict[str, float]]
    unknown: float


def read_rows(page: str) -> list[SymptomRow]:
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
            rows.append(SymptomRow(group, shown, cause, checks, where, _quotes(sees), told))
        above = line if line.strip() and not line.startswith(("|", "#")) else above
    return rows


def weigh(rows: Sequence[SymptomRow]) -> Weights:
    """Inverse frequency of words: the fewer rows have a word, the more it weighs; less in what any error has."""
    quoted = _rarities([{word for quote in row.quotes for word in quote} for row in rows])
    quoted = {word: weight * (OFTEN if word in _ANY_ERRORS else 1.0) for word, weight in quoted.items()}
    told = {word: math.sqrt(rarity) for word, rarity in _rarities([row.told.keys() for row in rows]).items()}
    by_row = [{word: told[word] * weight for word, weight in row.told.items()} for row in rows]
    return Weights(quoted, told, by_row, math.sqrt(math.log(1 + len(rows))))


def _rarities(rows: Sequence[AbstractSet[str]]) -> dict[str, float]:
    count = Counter(word for row in rows for word in row)
    return {word: math.log(1 + len(rows) / n) for word, n in count.items()}


def _quotes(cell: str) -> tuple[Words, ...]:
    """The quotes of a row, which stand in code font: two words or more, or one that only this error has."""
    found = [(quote, words_of(quote)) for quote in re.findall(r"`([^`]+)`", cell)]
    alone = {quote for quote, _ in found if SINGLE.fullmatch(quote) and not hasattr(builtins, quote)}
    return tuple(words for quote, words in found if len(words) > 1 or (words and (quote in alone or "-" in words[0])))


# --- Which rows of the page of symptoms fit a text: `rank` weighs all of them.


ENOUGH = 7.0  # the score from which a row is named: three rare words, or two in a line that tells of an error
NOTES = "Notes only"  # a cause that begins so is named behind all others
TIMED_OUT = ("One rank died", "A collective that not all ranks call", "A slow rank")  # how a time-out's causes begin
HANGS = "It hangs"
WHAT = "\n  what(): "  # of an exception in C++: the first line has its type, the next one its words
NEAR = 0.35  # a row is named beside the best one from this part of its score
TOLD = 2.6  # weight of a word in a sentence, against one of a quote
ELSEWHERE = 0.8  # of what is told, for a row of hangs, speed, memory or saving, where nobody speaks of such

Places = Mapping[
    Words, Mapping[Words, float]
]  # a word or a pair of words -> the lines that have it, with their weights


@dataclass(frozen=True)
class Match:
    """How well a row fits, and the words of the text that say so."""

    row: SymptomRow
    score: float
    because: Words


def fitting(text: str, rows: Sequence[SymptomRow]) -> list[Match]:
    """At most three rows that fit, the best first; none if none does. Frames count if nothing else tells.

    A time-out of NCCL is only an echo, and its text does not say of what: all three causes are named, and before them
    the row of an error that stands before it, or of the moment that a sentence tells.
    """
    if any(map(timed_out, lines_of(text))):
        return _of_a_time_out(text, rows)
    for frames in (False, True) if 'file "' in text.lower() else (False,):
        best, *others = rank(text, rows, frames=frames)[:3]
        if best.score >= ENOUGH:
            near = [match for match in (best, *others) if match.score >= max(ENOUGH, NEAR * best.score)]
            return sorted(near, key=lambda match: match.row.cause.startswith(NOTES))
    return []


def _of_a_time_out(text: str, rows: Sequence[SymptomRow]) -> list[Match]:
    lines = lines_of(text.replace(WHAT, " "))
    first = next(place for place, line in enumerate(lines) if timed_out(line))
    errors = rank("\n".join(filter(tells_of_an_error, lines[:first])), rows)
    told = [match for match in rank("\n".join(filter(is_sentence, lines)), rows) if match.row.group == HANGS]
    found = rank(text, rows)
    causes = [match for begins in TIMED_OUT for match in found if match.row.cause.startswith(begins)]
    by_row = {id(match.row): match for match in causes}
    before = {
        id(match.row): match
        for match in (errors[0], told[0])
        if match.score >= ENOUGH and id(match.row) not in by_row and not match.row.cause.startswith(NOTES)
    }
    return [*before.values(), *causes]


def rank(text: str, rows: Sequence[SymptomRow], *, frames: bool = False) -> list[Match]:
    """All rows, the best first.

    A quote counts by its longest run of words in one line, each word by how few rows have it, and less the more of the
    quote is missing. A row's best quote counts whole, the next one half, a quarter, ... What is told in sentences
    counts by the words that a row has, in whatever form and order, and less the more of the text the row has not.
    """
    weights = weigh(rows)
    places = _places(text, (quote for row in rows for quote in row.quotes), frames=frames)
    told = sorted(concepts("\n".join(filter(is_sentence, lines_of(text)))))
    most = sum(weights.told.get(word, weights.unknown) for word in told)
    found = []
    for row, own in zip(rows, weights.by_row, strict=True):
        runs = sorted((_best_run(quote, places, weights.quoted) for quote in row.quotes), reverse=True)
        quoted = sum(value / 2**place for place, (value, _) in enumerate(runs))
        both = [own[word] for word in told if word in own]
        in_words = TOLD * sum(both) * math.sqrt(sum(both) / most) if len(both) > 1 else 0.0
        in_words *= ELSEWHERE if KINDS.get(row.group, frozenset(told)).isdisjoint(told) else 1.0
        found.append(Match(row, quoted + in_words, runs[0][1] if runs else ()))
    return sorted(found, key=lambda match: -match.score)


def _places(text: str, quotes: Iterable[Words], *, frames: bool) -> Places:
    """Index of the text's lines by pairs of words, and by single ones; what many ranks print counts once."""
    wanted = {key for quote in quotes for key in _keys(quote)}
    lines, places = lines_of(text), dict[Words, dict[Words, float]]()
    for place, line in enumerate(lines, start=1):
        words = words_of(line)
        found = wanted.intersection([*zip(words), *pairs_of(words)])
        weight = weight_of(line, len(lines) - place, frames=frames) if found else 0.0
        for key in found:
            at = places.setdefault(key, {})
            at[words] = max(weight, at.get(words, 0.0))
    return places


def _best_run(quote: Words, places: Places, weights: Mapping[str, float]) -> tuple[float, Words]:
    """The weight of the quote's longest run of words in a line, and the run."""
    best: tuple[float, Words] = (0.0, ())
    for at_most, line, weight in _promising(quote, places, sum(weights[word] for word in quote)):
        if at_most < best[0]:
            break
        run = SequenceMatcher(None, quote, line, autojunk=False).find_longest_match()
        words = quote[run.a : run.a + run.size]
        best = max(best, (weight * sum(weights[word] for word in words) * (run.size / len(quote)) ** 2, words))
    return best


def _promising(quote: Words, places: Places, whole: float) -> list[tuple[float, Words, float]]:
    """Lines with an upper bound of their score, the highest first: a run has no more pairs of words than its line."""
    keys, alone = _keys(quote), len(quote) > 1
    pairs = Counter(line for key in keys for line in places.get(key, ()))
    weights = {line: weight for key in keys for line, weight in places.get(key, {}).items()}
    share = {line: min(1.0, (count + alone) / len(quote)) for line, count in pairs.items()}
    return sorted(
        ((weight * whole * share[line] ** 2 + 1e-9, line, weight) for line, weight in weights.items()), reverse=True
    )


def _keys(quote: Words) -> list[Words]:
    return pairs_of(quote) if len(quote) > 1 else [quote]


# --- `course symptoms`: the rows of the page of symptoms that fit a log.


LIMIT_BYTES = 1_000_000  # so many fours: of UTF-16 and UTF-32, too, the end begins with a whole letter
MARK_BYTES = 4


@click.command()
@click.argument("log", type=click.File("rb"), default="-", metavar="[LOGFILE]")
def symptoms(log: IO[bytes]) -> None:
    """Name the three rows of the page of symptoms that fit LOGFILE best, or what is piped in or pasted."""
    from course_lib.cli.symptoms import fitting, read_rows
    from course_lib.desk.files import DeskError, course_folder

    try:
        page = (course_folder() / "notebooks" / "symptoms.md").read_text(encoding="utf-8")
        text = _read(log)
    except (DeskError, OSError) as error:
        raise click.ClickException(str(error)) from error
    found = fitting(text, read_rows(page))
    for number, match in enumerate(found, start=1):
        click.echo(_told(number, match))
    if not found:
        click.echo("No row fits. Look under what you see, in notebooks/symptoms.md, or give more of the log.")


def _read(log: IO[bytes]) -> str:
    """The log's last bytes as text."""
    from course_lib.desk.files import NoText, text_of

    if log is sys.stdin.buffer and sys.stdin.isatty():
        click.echo("Paste the error, then press Enter and Ctrl+D.", err=True)
    begins = content = b""
    cut = False
    while chunk := log.read(LIMIT_BYTES):
        begins = begins or chunk[:MARK_BYTES]
        cut = cut or len(content) + len(chunk) > LIMIT_BYTES
        content = (content + chunk)[-LIMIT_BYTES:]
    if cut:
        click.echo("A long log: its last 1 MB is read.", err=True)
    try:
        return text_of(content, begins)
    except NoText as error:
        raise click.ClickException(f"{error}. Give the log itself, unpacked.") from error


def _told(number: int, match: Match) -> str:
    row = match.row
    section, path, proof = re.fullmatch(r"\[(.+)\]\((.+)\) (.+)", row.where).groups()  # type: ignore[union-attr]
    shown = f"pytest tests/symptoms -k {proof.strip('`')}" if proof.startswith("`") else proof
    first, _, second = row.checks.replace("**", "").partition(" 2. ")
    because = f"   your words: {' '.join(match.because)}\n" if match.because else ""
    cause = f"{number}. {row.group}: {row.cause}\n{because}"
    return f"{cause}   {first}\n   2. {second}\n   section: {section}, notebooks/{path}\n   proof: {shown}\n"
