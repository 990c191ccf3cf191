"""Exercise 12e: the receiver of a lossy wire with few sequence numbers: in order, each once, and acknowledged."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

import numpy as np

from course_lib.grading.exercise import Case
from course_lib.grading.exercises.common import Reasons, function_exercise

__all__ = ["EXERCISE"]

Packets = list[list[int]]  # number, payload


# Cases


def wires(rng: np.random.Generator) -> Iterator[Case]:
    """Packets that overtake each other, come twice and late, or never; numbers that begin again; equal messages."""
    calls: list[tuple[Packets, int, int]] = [
        ([[0, 5], [2, 7], [3, 9], [2, 7], [1, 5], [1, 5], [5, 8], [4, 7], [0, 6], [4, 7]], 6, 3),
        ([[0, 4], [0, 4], [1, 4], [0, 4], [0, 4], [1, 9]], 2, 1),
        ([[0, 1], [1, 2], [2, 3], [0, 5], [3, 4]], 4, 2),
        ([[1, 3], [2, 8], [1, 3], [0, 6]], 8, 4),
        ([], 8, 4),
    ]
    for window, numbers in ((2, 4), (3, 8), (4, 8), (5, 16)):
        calls.append((_arrivals(rng, numbers, window), numbers, window))
    yield Case(1, calls, [_right(*call) for call in calls], label="nine wires")


def _arrivals(rng: np.random.Generator, numbers: int, window: int) -> Packets:
    """What comes to a receiver from a sender that keeps to its window; no copy is later than the numbers allow."""
    messages = rng.integers(1, 30, 3 * numbers).tolist()
    following, early, packets = 0, set[int](), Packets()
    while following < 2 * numbers + 2:
        most = following + window if rng.random() < 0.6 else following + 1
        place = int(rng.integers(max(0, following - (numbers - window)), most))
        packets.append([place % numbers, messages[place]])
        early |= {place} if place >= following else set()
        while following in early:
            following += 1
    return packets


def _right(packets: Packets, numbers: int, window: int) -> list[list[int]]:
    return _received(packets, lambda number, following: _place(number, following, numbers, window), numbers)


def _place(number: int, following: int, numbers: int, window: int) -> int | None:
    """Which of all messages this is; None if it was delivered before."""
    ahead = (number - following) % numbers
    return following + ahead if ahead < window else None


def _received(
    packets: Packets, place_of: Callable[[int, int], int | None], numbers: int, most: int = 1 << 30
) -> list[list[int]]:
    early, delivered, acks = dict[int, int](), list[int](), list[int]()
    for number, payload in packets:
        place = place_of(number, len(delivered))
        early |= {} if place is None else {place: payload}
        full = len(delivered) + most * (place == len(delivered))
        while len(delivered) in early and len(delivered) < full:
            delivered.append(early[len(delivered)])
        acks.append(len(delivered) % numbers)
    return [delivered, acks]


# Diagnoses


def reasons(packets: Packets, numbers: int, window: int) -> Reasons:
    def other(place_of: Callable[[int, int], int | None]) -> Callable[[list], str | None]:
        return _delivers(_received(packets, place_of, numbers)[0])

    delivered, acks = _right(packets, numbers, window)
    payloads = [payload for _, payload in packets]
    yield "What came before comes again: its number tells that it is no new one", _delivers(payloads)
    endless = other(lambda number, following: _place(number, following, numbers, numbers))
    yield "A number that is not less than the window ahead is one that you have had: do not keep it", endless
    alone = other(lambda number, following: _place(number, following, numbers, 1))
    yield "What comes early is kept until those before it have come: nobody need send it again", alone
    straight = other(lambda number, following: number if number >= following else None)
    yield "After the last number comes 0 again: count on from what you have delivered", straight
    half = _received(packets, lambda n, due: _place(n, due, numbers, window * (n >= due % numbers)), numbers)
    yield "After the last number comes 0 again: a smaller one may be early, so look around the circle", half
    two = _received(packets, lambda number, following: _place(number, following, numbers, window), numbers, most=2)
    yield "Several may have waited: deliver for as long as the next one is there", _delivers(two[0])
    in_time = _delivers(list(_in_time(packets, numbers, window)))
    yield "Messages are delivered in the order of their numbers: what is early waits", in_time
    yield "Two messages may say the same: their numbers tell them apart", _delivers(list(dict.fromkeys(delivered)))
    own, last = [number for number, _ in packets], [(ack - 1) % numbers for ack in acks]
    yield "An acknowledgment says which number you wait for next, not which one came", [delivered, own]
    yield "An acknowledgment says which number you wait for *next*, one more than the last delivered", [delivered, last]
    straight_on = _received(packets, lambda number, following: _place(number, following, numbers, window), 1 << 30)
    yield "Acknowledgments go around the circle, too: after `numbers` - 1 comes 0", straight_on
    yield "First the payloads that were delivered, then the acknowledgments", [acks, delivered]
    silent = _delivers(delivered, most=len(acks) - 1)
    yield "Every packet is acknowledged, an old one, too: its first acknowledgment may be lost", silent


def _in_time(packets: Packets, numbers: int, window: int) -> Iterator[int]:
    """The payloads of new messages as they come, early or not."""
    seen = set[int]()
    for end, (number, payload) in enumerate(packets):
        place = _place(number, len(_right(packets[:end], numbers, window)[0]), numbers, window)
        if place is not None and place not in seen:
            seen.add(place)
            yield payload


def _delivers(payloads: list[int], most: float = math.inf) -> Callable[[list], str | None]:
    """Whether this was delivered, whatever was acknowledged."""
    return lambda came: None if list(came[0]) == payloads and len(came[1]) <= most else "something else"


# The exercise

EXERCISE = function_exercise(
    id="12e",
    title="Exactly once",
    function="received",
    points=5,
    cases=wires,
    reasons=reasons,
    hints=(
        "Two things change: which number you wait for, and what is kept early, by its number.",
        "(number - following) % numbers says how far ahead a packet is, around the circle. Less than window: it is new "
        "or early. Else you have had it.",
        "New: early[number] = payload. Then, while early holds `following`: deliver it, and following = (following + "
        "1) % numbers. In any case append following to the acknowledgments.",
    ),
)
