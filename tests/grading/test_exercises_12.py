"""What chapter 12's exercises say of answers that are right but for one thing."""

import math

import pytest

from course_lib.grading import check
from course_lib.grading.exercises import find
from course_lib.grading.exercises.mistakes import function_of

saved, received, dealt = (function_of(find(name)) for name in ("12a", "12e", "12f"))


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


def _in_batches(order, batch, every, runs, ranks):
    taken = len(order) - sum(map(len, dealt(order, batch, every, runs, ranks)))
    hands = [[] for _ in range(ranks)]
    for number, begin in enumerate(range(taken, len(order), batch)):
        hands[number % ranks] += order[begin : begin + batch]
    return hands


def _one_step_a_checkpoint(order, batch, every, runs, ranks):
    return dealt(order, batch, 1, [[number, steps // every] for number, steps in runs], ranks)


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
        ("12f", _in_batches, "dealt one by one, like cards"),
        ("12f", _one_step_a_checkpoint, "A checkpoint stands for `every` steps"),
    ],
)
def test_the_message_names_what_is_wrong(exercise, answer, words):
    report = check(exercise, answer)
    assert report.points == 0
    assert words in " | ".join(map(str, report.findings))


def test_acknowledgments_that_are_all_there_are_not_called_missing():
    assert "Every packet is acknowledged" not in str(check("12e", _with_numbers))
