"""Exercise 11f: how many machines one storage serves, what stops the next, and how many opens are under way then."""

from course_lib.grading.exercises.common import function_exercise


def storages(rng):
    """Small files and shards; the opens are the limit, or the bytes; one machine is too many; machines that fit exactly."""
    yield from ((1_000, 100_000, samples, 20_000, 5_000_000_000, 0.002) for samples in (1, 100))
    yield from ((3_000, 50_000, 1, opens, 5_000_000_000, 0.0023) for opens in (20_000, 2_000))
    yield 4_000, 150_000, 1000, 50, 6_000_000_000, 0.01
    drawn = 5
    while drawn < 12:
        rate, size = int(rng.integers(2, 40)) * 100, int(rng.integers(2, 60)) * 5000
        file_samples = (1, 8, 64, 1000)[drawn % 4]
        opens, delivered = int(rng.integers(5, 400)) * 100, int(rng.integers(2, 60)) * 10**9
        if opens * file_samples // rate != delivered // (rate * size):
            drawn += 1
            yield rate, size, file_samples, opens, delivered, 0.002


MISTAKES = r"""
The next machine is not served in full any more: round down
    file_samples // -> file_samples /
    bytes_per_s // -> bytes_per_s /
    nodes = min(by_opens, by_bytes) -> nodes = int(-(-min(by_opens, by_bytes) // 1))
or
    file_samples // -> file_samples /
    bytes_per_s // -> bytes_per_s /
    [nodes, -> [int(-(-nodes // 1)),
    nodes * samples -> nodes // 1 * samples
There is no part of a machine: round down
    file_samples // -> file_samples /
    bytes_per_s // -> bytes_per_s /
That takes the larger of two limits; the smaller one is felt first
    min(by_opens -> max(by_opens
    by_opens < by_bytes -> by_opens > by_bytes
A file holds several samples: one open brings them all
    opens_per_s * file_samples -> opens_per_s
    samples_per_s / file_samples -> samples_per_s
A sample has its own bytes alone, however many a file holds
    * sample_bytes) -> * sample_bytes * file_samples)
Opens a second are samples a second divided by the samples of a file
    samples_per_s / file_samples -> samples_per_s
All machines have opens under way, not one
    nodes * samples -> samples
Little's law: opens a second times the seconds of one
    / file_samples * open_s -> / file_samples
Little's law has what the machines ask for, not what the storage could answer
    nodes * samples_per_s / file_samples -> opens_per_s
A machine's opens per second need not be a whole number: do not round them
    opens_per_s * file_samples // samples_per_s -> opens_per_s // -(-samples_per_s // file_samples)
    nodes * samples_per_s / file_samples -> nodes * -(-samples_per_s // file_samples)
or
    opens_per_s * file_samples // samples_per_s -> opens_per_s // max(1, samples_per_s // file_samples)
    nodes * samples_per_s / file_samples -> nodes * max(1, samples_per_s // file_samples)
That leaves out the opens
    min(by_opens, by_bytes) -> by_bytes
    "opens" if by_opens < by_bytes else "bytes" -> "bytes"
That leaves out the bytes
    min(by_opens, by_bytes) -> by_opens
    "opens" if by_opens < by_bytes else "bytes" -> "opens"
The limit is "opens" or "bytes", whichever allows fewer machines
    "opens" if by_opens < by_bytes else "bytes" -> "bytes" if by_opens < by_bytes else "opens"
"""

EXERCISE = function_exercise(
    __name__,
    calls=storages,
    label="twelve storages",
    tolerance=1e-9,
    mistakes=MISTAKES,
    hints="""
What does one machine ask of the storage in a second: how many opens, how many bytes?
Each limit divided by what one machine asks for; the smaller one is felt. Round down.
Little's law: opens a second of all these machines, times open_s.
""",
)
