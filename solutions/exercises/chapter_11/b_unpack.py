"""Exercise 11b: the samples of a shard that may be torn."""

from course_lib.grading.exercises.chapter_11.shared import record, sample_of
from course_lib.grading.exercises.common import function_exercise


def shards(rng):
    """Whole shards, and shards torn within a sample, right before it, and within its length."""
    three = [number for size in (2, 0, 3) for number in record(sample_of(rng, size))]
    long = record(sample_of(rng, 2)) + record(sample_of(rng, 256 + int(rng.integers(20))))
    yield from [([0, 2, 7, 8, 0, 1, 9],), ([0, 2, 7, 8, 0, 3, 9],), (three,), ([],), ([0],)]
    yield from [(three[:-1],), (three[:6],), (three[:7],), (record(sample_of(rng, 4))[:2],), (record([]),), (long,)]


def torn(case, outcome):
    """An index beyond the end."""
    failure = outcome.failure
    if failure is None or failure.cause not in ("IndexError", "StopIteration", "ValueError", "struct.error", "error"):
        return None
    return f"A shard may end anywhere, even within a length. {failure.text}"


MISTAKES = r"""
... A shard may end anywhere, even within a length
    place + 2 <= len(shard) -> place < len(shard)
... Does the place move on after every sample
    break -> continue
A sample that is not whole is none
    if stop > len(shard):\n            break\n        samples -> samples
    len(shard) - place] -> max(0, len(shard) - place)]
or
    break -> samples.append(shard[place + 2 :])\n            break
or
    [samples, len(shard) - place] -> [samples + [shard[place + 2 :]] * (place < len(shard)), 0]
or
    [samples, -> [samples + [shard[place + 2 :]] * (place < len(shard)),
Count the bytes that are left: those of a length, too
    len(shard) - place] -> max(0, len(shard) - place - 2)]
The second value is how many bytes are left behind the whole samples
    len(shard) - place] -> shard[place:]]
The second value is a number of bytes
    len(shard) - place] -> place < len(shard)]
A torn shard has a rest
    len(shard) - place] -> 0]
How many bytes stand there behind the whole samples, not how many are missing
    break -> return [samples, stop - len(shard)]
or
    break -> return [samples, stop - len(shard)]
    len(shard) - place] -> 0]
Each sample is a list of its own
    samples.append -> samples.extend
An empty sample is a sample: after it the shard goes on
    if stop > len(shard): -> if stop > len(shard) or stop == place + 2:
An empty sample is a sample, too
    samples.append(shard[place + 2 : stop]) -> samples += [shard[place + 2 : stop]] * (stop > place + 2)
One torn sample at the end does not spoil the others
    return -> return [[], len(shard)] if place < len(shard) else
That leaves out the high byte of a length
    2 + 256 * shard[place] + -> 2 +
The high byte of a length comes first
    2 + 256 * shard[place] + -> 2 + shard[place] + 256 *
The sample begins behind the two bytes of its length
    shard[place + 2 : stop] -> shard[place:stop]
"""

EXERCISE = function_exercise(
    __name__,
    calls=shards,
    label="eleven shards, some of them torn",
    before=(torn,),
    mistakes=MISTAKES,
    slow="Does the place move on after every sample, and does the loop end where the shard does?",
    hints="""
Keep a place in the shard. There is a length only if place + 2 is at most len(shard).
Where does the sample end? At place + 2 + its length. If that is beyond the shard, it is torn.
What is left is len(shard) - place, whichever way the loop ended.
""",
)
