"""Exercise 11a: samples into shards of a limited size."""

from course_lib.grading.exercises.chapter_11.shared import sample_of
from course_lib.grading.exercises.common import function_exercise


def folders(rng):
    """Shards that are filled exactly, samples that are empty, larger than a shard, or of more than 255 bytes."""
    drawn = [sample_of(rng, int(size)) for size in rng.permutation([1, 2, 3, 4, 5, 6])]
    yield [[7, 8], [9], [1, 2, 3]], 8
    for sizes, max_bytes in (((3, 3, 3, 3), 10), ((2, 9, 1), 8), ((9, 4), 6), ((0, 2, 0), 6), ((), 10)):
        yield [sample_of(rng, size) for size in sizes], max_bytes
    yield drawn, 12
    yield [sample_of(rng, 2), sample_of(rng, 256 + int(rng.integers(9)))], 300


MISTAKES = r"""
A shard may be filled to its last byte
    > max_bytes -> >= max_bytes
The two bytes of a length count, too
    len(shards[-1]) + len(each) > -> used + len(sample) >
    shards.append([]) -> shards.append([])\n            used = 0
    shards[-1] += each -> shards[-1] += each\n        used += len(sample)
A record is not cut: what does not fit begins a new shard
    len(shards[-1]) + len(each) > -> len(shards[-1]) >=
The last shard counts, though it is not full
    return shards -> return shards[:-1]
A sample larger than a shard gets one of its own, it is not left out
    if not shards -> if len(each) > max_bytes:\n            continue\n        if not shards
No shard is empty: begin a new one only when something is in the last
    shards = [] -> shards = [[]]
or
    return shards -> return shards or [[]]
The high byte of a length comes first
    record(sample) -> [len(sample) % 256, len(sample) // 256, *sample]
A length from 256 on needs its high byte: n // 256 and n % 256
    record(sample) -> [0, len(sample), *sample]
A length is that of the content, without the two bytes themselves
    record(sample) -> [(len(sample) + 2) // 256, (len(sample) + 2) % 256, *sample]
Each record begins with the length of its sample
    record(sample) -> sample
or
    shards[-1] += each -> shards[-1] += sample
Samples keep their order: only the last shard may still be filled
    if not shards or len(shards[-1]) + len(each) > max_bytes: -> room = [s for s in shards if len(s) + len(each) <= max_bytes]\n        if not room:
    shards[-1] += each -> (room or shards[-1:])[0].extend(each)
A shard is one row of bytes: its records one after the other
    len(shards[-1]) + -> sum(map(len, shards[-1])) +
    shards[-1] += each -> shards[-1].append(each)
"""

EXERCISE = function_exercise(
    __name__,
    calls=folders,
    label="eight lists of samples",
    mistakes=MISTAKES,
    hints="""
First the record of one sample: [n // 256, n % 256] and then its n numbers.
Go through the records with the list of shards. When does a record not fit into the last shard?
Begin a new shard if there is none yet, or if len(shards[-1]) + len(record) is above max_bytes.
""",
)
