"""Exercise 12e: the receiver of a lossy wire with few sequence numbers: in order, each once, and acknowledged."""

from course_lib.grading.exercises.common import function_exercise


def wires(rng):
    """Packets that overtake each other, come twice and late, or never; numbers that begin again; equal messages."""
    yield [[0, 5], [2, 7], [3, 9], [2, 7], [1, 5], [1, 5], [5, 8], [4, 7], [0, 6], [4, 7]], 6, 3
    yield [[0, 4], [0, 4], [1, 4], [0, 4], [0, 4], [1, 9]], 2, 1
    yield [[0, 1], [1, 2], [2, 3], [0, 5], [3, 4]], 4, 2
    yield [[1, 3], [2, 8], [1, 3], [0, 6]], 8, 4
    yield [], 8, 4
    for window, numbers in ((2, 4), (3, 8), (4, 8), (5, 16)):
        yield _arrivals(rng, numbers, window), numbers, window


def _arrivals(rng, numbers, window):
    """What comes to a receiver from a sender that keeps to its window; no copy is later than the numbers allow."""
    messages = rng.integers(1, 30, 3 * numbers).tolist()
    following, early, packets = 0, set(), []
    while following < 2 * numbers + 2:
        most = following + window if rng.random() < 0.6 else following + 1
        place = int(rng.integers(max(0, following - (numbers - window)), most))
        packets.append([place % numbers, messages[place]])
        early |= {place} if place >= following else set()
        while following in early:
            following += 1
    return packets


MISTAKES = r"""
What came before comes again: its number tells that it is no new one
    if (number - following) % numbers < window: -> delivered.append(payload)\n        if False:
A number that is not less than the window ahead is one that you have had: do not keep it
    (number - following) % numbers < window -> True
What comes early is kept until those before it have come: nobody need send it again
    (number - following) % numbers < window -> number == following
After the last number comes 0 again: count on from what you have delivered
    (number - following) % numbers < window -> number >= following
    (following + 1) % numbers -> following + 1
After the last number comes 0 again: a smaller one may be early, so look around the circle
    (number - following) % numbers < window -> following <= number < following + window
Several may have waited: deliver for as long as the next one is there
    answer one_early
Messages are delivered in the order of their numbers: what is early waits
    early[number] = payload\n -> (number in early) or delivered.append(payload); early[number] = payload\n
    delivered.append(early.pop(following)) -> early.pop(following)
Two messages may say the same: their numbers tell them apart
    [delivered, acknowledgments] -> [list(dict.fromkeys(delivered)), acknowledgments]
An acknowledgment says which number you wait for next, not which one came
    acknowledgments.append(following) -> acknowledgments.append(number)
An acknowledgment says which number you wait for *next*, one more than the last delivered
    acknowledgments.append(following) -> acknowledgments.append((following - 1) % numbers)
Acknowledgments go around the circle, too: after `numbers` - 1 comes 0
    acknowledgments.append(following) -> acknowledgments.append(len(delivered))
First the payloads that were delivered, then the acknowledgments
    [delivered, acknowledgments] -> [acknowledgments, delivered]
Every packet is acknowledged, an old one, too: its first acknowledgment may be lost
    early[number] = payload -> early[number] = payload\n        else:\n            continue
"""

EXERCISE = function_exercise(
    __name__,
    calls=wires,
    label="nine wires",
    mistakes=MISTAKES,
    hints="""
Two things change: which number you wait for, and what is kept early, by its number.
(number - following) % numbers says how far ahead a packet is, around the circle. Less than window: it is new or early. Else you have had it.
New: early[number] = payload. Then, while early holds `following`: deliver it, and following = (following + 1) % numbers. In any case append following to the acknowledgments.
""",
)
