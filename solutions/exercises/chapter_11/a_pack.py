"""Exercise 11a: samples into shards of a limited size."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from course_lib.grading.exercise import Case
from course_lib.grading.exercises.chapter_11.shared import Bytes, record, sample_of
from course_lib.grading.exercises.common import Reasons, function_exercise

__all__ = ["EXERCISE"]


# Cases


def folders(rng: np.random.Generator) -> Iterator[Case]:
    """Shards that are filled exactly, samples that are empty, larger than a shard, or of more than 255 bytes."""
    drawn = [sample_of(rng, int(size)) for size in rng.permutation([1, 2, 3, 4, 5, 6])]
    calls: list[tuple[list[Bytes], int]] = [
        ([[7, 8], [9], [1, 2, 3]], 8),
        ([sample_of(rng, 3) for _ in range(4)], 10),
        ([sample_of(rng, 2), sample_of(rng, 9), sample_of(rng, 1)], 8),
        ([sample_of(rng, 9), sample_of(rng, 4)], 6),
        ([[], sample_of(rng, 2), []], 6),
        ([], 10),
        (drawn, 12),
        ([sample_of(rng, 2), sample_of(rng, 256 + int(rng.integers(9)))], 300),
    ]
    yield Case(1, calls, [_packed(*call) for call in calls], label="eight lists of samples")


def _packed(
    samples: Sequence[Bytes], most_bytes: int, fits: Callable[[Bytes, Bytes, int], bool] | None = None
) -> list[Bytes]:
    """The samples in shards; `fits(shard, record, most_bytes)` may be a mistaken one."""
    fits = fits or (lambda shard, each, most: len(shard) + len(each) <= most)
    shards: list[Bytes] = []
    for each in map(record, samples):
        if not shards or not fits(shards[-1], each, most_bytes):
            shards.append([])
        shards[-1] += each
    return shards


# Diagnoses


def reasons(samples: list[Bytes], most_bytes: int) -> Reasons:
    right = _packed(samples, most_bytes)
    yield "A shard may be filled to its last byte", _packed(samples, most_bytes, lambda s, r, m: len(s) + len(r) < m)
    uncounted = _packed(samples, most_bytes, lambda s, r, m: _content(s) + len(r) - 2 <= m)
    yield "The two bytes of a length count, too", uncounted
    cut = _packed(samples, most_bytes, lambda s, _, m: len(s) < m)
    yield "A record is not cut: what does not fit begins a new shard", cut
    yield "The last shard counts, though it is not full", right[:-1]
    fitting = [each for each in samples if len(each) + 2 <= most_bytes]
    yield "A sample larger than a shard gets one of its own, it is not left out", _packed(fitting, most_bytes)
    no_empty = "No shard is empty: begin a new one only when something is in the last"
    yield no_empty, [[], *right] if samples[:1] != fitting[:1] or not samples else right
    yield no_empty, right or [[]]
    yield "The high byte of a length comes first", _with_headers(right, lambda n: [n % 256, n // 256])
    yield "A length from 256 on needs its high byte: n // 256 and n % 256", _with_headers(right, lambda n: [0, n])
    yield "A length is that of the content, without the two bytes themselves", _with_headers(right, _whole)
    no_header = "Each record begins with the length of its sample"
    yield no_header, _with_headers(right, _nothing)
    bare = _with_headers(_packed(samples, most_bytes, lambda s, r, m: _content(s) + len(r) - 2 <= m), _nothing)
    yield no_header, bare
    yield "Samples keep their order: only the last shard may still be filled", _first_fit(samples, most_bytes)
    nested = [list(map(record, _records(s))) for s in right]
    yield "A shard is one row of bytes: its records one after the other", nested


def _whole(length: int) -> Bytes:
    return [(length + 2) // 256, (length + 2) % 256]


def _nothing(length: int) -> Bytes:
    return []


def _first_fit(samples: Sequence[Bytes], most_bytes: int) -> list[Bytes]:
    """Each record in the first shard that has room for it."""
    shards: list[Bytes] = []
    for each in map(record, samples):
        room = (shard for shard in shards if len(shard) + len(each) <= most_bytes)
        if (found := next(room, None)) is not None:
            found += each
        else:
            shards.append(list(each))
    return shards


def _records(shard: Bytes) -> Iterator[Bytes]:
    """The samples of a shard."""
    place = 0
    while place < len(shard):
        size = 256 * shard[place] + shard[place + 1]
        yield shard[place + 2 : place + 2 + size]
        place += 2 + size


def _content(shard: Bytes) -> int:
    return sum(map(len, _records(shard)))


def _with_headers(shards: Sequence[Bytes], header: Callable[[int], Bytes]) -> list[Bytes]:
    """The same shards with other bytes before each sample."""
    return [[number for each in _records(shard) for number in [*header(len(each)), *each]] for shard in shards]


# The exercise

EXERCISE = function_exercise(
    id="11a",
    title="Write shards",
    function="pack",
    points=4,
    cases=folders,
    reasons=reasons,
    hints=(
        "First the record of one sample: [n // 256, n % 256] and then its n numbers.",
        "Go through the records with the list of shards. When does a record not fit into the last shard?",
        "Begin a new shard if there is none yet, or if len(shards[-1]) + len(record) is above most_bytes.",
    ),
)
