"""What chapter 12's exercises say of answers that are right but for one thing."""

import math

import pytest

from course_lib.grading import check
from course_lib.grading.exercises import find
from course_lib.grading.exercises.mistakes import function_of

saved, received, reads = (function_of(find(name)) for name in ("12a", "12e", "12f"))


def _by_the_page(interval, save, restart, chance):
    segment = math.exp(restart * chance) * math.expm1((interval + save) * chance) / chance
    return [*saved(interval, save, restart, chance)[:2], 1 - interval / segment]


def _failing_restarts(interval, save, restart, chance):
    return saved(interval, save, sum((1 - chance) ** -k for k in range(1, restart + 1)), chance)


def _without_the_save(interval, save, restart, chance):
    return [*saved(interval, save, restart, chance)[:2], saved(interval, 0, restart, chance)[2]]


def _with_numbers(packets, numbers, window):
    delivered, acks = received(packets, numbers, window)
    return [delivered, [[number, ack] for (number, _), ack in zip(packets, acks, strict=True)]]


def _of_the_filled_row(length, saved_by, ranks):
    return reads(math.ceil(length / saved_by) * saved_by, saved_by, ranks)


def _how_many(length, saved_by, ranks):
    plan = reads(length, saved_by, ranks)
    return [[[[file, first, stop - first] for file, first, stop in parts], zeros] for parts, zeros in plan]


def _of_every_file(length, saved_by, ranks):
    saved, wanted = math.ceil(length / saved_by), math.ceil(length / ranks)
    ends = [(min(rank * wanted, length), min((rank + 1) * wanted, length)) for rank in range(ranks)]
    files = [file * saved for file in range(saved_by)]
    parts = [
        [[k, max(begin, file) - file, min(end, file + saved) - file] for k, file in enumerate(files)]
        for begin, end in ends
    ]
    return [[each, wanted - (end - begin)] for each, (begin, end) in zip(parts, ends, strict=True)]


@pytest.mark.parametrize(
    ("exercise", "answer", "words"),
    [
        ("12a", _by_the_page, "That is the page's formula"),
        ("12a", _failing_restarts, "Nothing can fail during a restart"),
        ("12a", _without_the_save, "It can fail while it saves, too"),
        ("12c", lambda files, name: set(), "gave no list of operations, but a set: return a list"),
        ("12c", lambda files, name: None, "gave no list of operations. Its `return` is missing"),
        ("12c", lambda files, name: [], "has no operations: nothing is saved"),
        ("12e", lambda *call: [list(dict.fromkeys(received(*call)[0])), []], "Two messages may say the same"),
        ("12f", _of_the_filled_row, "The row has `length` numbers"),
        ("12f", _how_many, "The third value is where to stop"),
        ("12f", _of_every_file, "Leave out files of which the rank reads nothing"),
    ],
)
def test_the_message_names_what_is_wrong(exercise, answer, words):
    report = check(exercise, answer)
    assert report.points == 0
    assert words in " | ".join(map(str, report.findings))


def test_acknowledgments_that_are_all_there_are_not_called_missing():
    assert "Every packet is acknowledged" not in str(check("12e", _with_numbers))
