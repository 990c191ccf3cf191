"""Exercise 06e: of how many micro-batches each rank holds activations at most."""

from course_lib.grading.exercises.chapter_06.shared import MANY, TWO_DIGITS, taken_apart, words_of
from course_lib.grading.exercises.common import function_exercise
from course_lib.pipeline.schedules import gpipe, one_forward_one_backward, zero_bubble_h1, zero_bubble_h2


def schedules(rng):
    """With W and without; one with a rank that holds most in its middle."""
    yield (words_of(zero_bubble_h1(3, 4)),)
    yield ([["F0", "F1", "B0", "F2", "F3", "B1", "B2", "B3"]],)
    yield ([["F0", "B0", "W0", "F1", "F2", "B1", "W1", "B2", "W2"]],)
    for make in (one_forward_one_backward, gpipe, zero_bubble_h2):
        stages = int(rng.integers(2, 5))
        yield (words_of(make(stages, stages + int(rng.integers(1, 5)))),)
    yield (_drawn(rng, 1, 8, ""),)
    yield (words_of(gpipe(2, MANY)),)
    for each in ("", "W", "", "W"):
        yield (_drawn(rng, int(rng.integers(1, 5)), int(rng.integers(8, 15)), each),)


def _drawn(rng, ranks, micro_batches, weights):
    """So many ranks' micro-batches in orders drawn at random, with W or without."""
    words = []
    for _ in range(ranks):
        done, mine = dict.fromkeys("FB" + weights, 0), []
        while min(done.values()) < micro_batches:
            before = dict(zip("FBW", (micro_batches, done["F"], done["B"]), strict=True))
            kind = str(rng.choice([kind for kind, count in done.items() if count < before[kind]]))
            mine.append(f"{kind}{done[kind]}")
            done[kind] += 1
        words.append(mine)
    return words


MISTAKES = rf"""
That is every micro-batch: the passes back let go of them, one by one
    - (word[0] == last) ->
W needs the activations, too: where there is a W, it lets go of them, and B does not
    word[0] == last -> word[0] == "B"
A micro-batch is let go of once: by W where there is one, else by B
    word[0] == last -> word[0] != "F"
Look after each F, too: just before something is let go of, the most is held
    max(peak, held) -> max(peak, held) if word[0] == last else peak
The longest run of F is not the most that is held: a rank may add to what it holds later
    held += (word[0] == "F") - (word[0] == last) -> held = held + 1 if word[0] == "F" else 0
That is 1F1B's formula; this schedule is another
    append(peak) -> append(min(len(schedule) - len(peaks), sum(word[0] == "F" for word in words)))
{TWO_DIGITS}
    append(peak) -> append(min(peak, 10))
or
    held = peak = 0 -> held, peak = set(), 0
    held += (word[0] == "F") - (word[0] == last) -> held = held | {{word[1]}} if word[0] == "F" else held - {{word[1]}} if word[0] == last else held
    max(peak, held) -> max(peak, len(held))
or
    held += ( -> kind, number = word; held += (
Each rank begins with nothing held, and with a peak of its own
    peaks = [] -> peaks, peak = [], 0
    held = peak = 0 -> held = 0
That is the worst rank; asked for is a number for each rank
    return peaks -> return max(peaks)
"""

EXERCISE = function_exercise(
    __name__,
    calls=schedules,
    label="activations that are held",
    before=(taken_apart,),
    mistakes=MISTAKES,
    hints="""
Go through a rank's list with one number, how many micro-batches it holds now. Which words change it?
F adds one. If the schedule has W anywhere, W takes one away, and B changes nothing; else B does.
Per rank: held += 1 or -= 1, peak = max(peak, held) after every operation.
""",
)
