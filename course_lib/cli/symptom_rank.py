"""Which rows of the page of symptoms fit a text: `rank` weighs all of them."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

from course_lib.cli.symptom_rows import Row, weigh
from course_lib.cli.symptom_words import (
    KINDS,
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

__all__ = ["ELSEWHERE", "ENOUGH", "HANGS", "NEAR", "NOTES", "TIMED_OUT", "TOLD", "WHAT", "Match", "fitting", "rank"]

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

    row: Row
    score: float
    because: Words


def fitting(text: str, rows: Sequence[Row]) -> list[Match]:
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


def _of_a_time_out(text: str, rows: Sequence[Row]) -> list[Match]:
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


def rank(text: str, rows: Sequence[Row], *, frames: bool = False) -> list[Match]:
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
    """Where the quotes' pairs of words are, and their single words; what many ranks say counts as said by one."""
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
    """What a line can count at most, the line and its weight, the most first: a run has no more pairs than the line."""
    keys, alone = _keys(quote), len(quote) > 1
    pairs = Counter(line for key in keys for line in places.get(key, ()))
    weights = {line: weight for key in keys for line, weight in places.get(key, {}).items()}
    share = {line: min(1.0, (count + alone) / len(quote)) for line, count in pairs.items()}
    return sorted(
        ((weight * whole * share[line] ** 2 + 1e-9, line, weight) for line, weight in weights.items()), reverse=True
    )


def _keys(quote: Words) -> list[Words]:
    return pairs_of(quote) if len(quote) > 1 else [quote]
