"""Exercise 02g: steps, bytes and seconds of a ring that sends whole tensors, by calculation."""

from course_lib.grading.exercises.common import function_exercise


def costs_of_the_bad_ring(rng):
    """Message sizes, ranks and links; one rank alone sends nothing."""
    for world_size in (3, 2, 1, 8, 100):
        n, latency_s = 4 * int(rng.integers(1_000, 9_999)), float(rng.integers(1, 99)) / 1e6
        yield n, world_size, latency_s, float(rng.integers(10, 99)) * 1e8


MISTAKES = r"""
After world_size - 1 rounds every parcel has been everywhere; one more brings it home
    steps = world_size - 1 -> steps = world_size
Two circles are the good ring's; here a rank adds whole tensors, and one circle is enough
    steps = world_size - 1 -> steps = 2 * (world_size - 1)
That is what one rank sends; all of them send
    world_size * bytes_per_rank, -> bytes_per_rank,
A parcel is the whole tensor, not a chunk of it
    bytes_per_rank, seconds -> bytes_per_rank / world_size, seconds
That is one round; there are as many as steps
    bytes_per_rank, seconds -> message_bytes, seconds
That is all ranks together
    bytes_per_rank, seconds -> world_size * bytes_per_rank, seconds
All ranks send at the same time, so a round takes as long as one message
    bytes_per_rank, seconds -> bytes_per_rank, world_size * seconds
Every round waits for its own message, latency included
    steps * (latency_s + message_bytes / bytes_per_s) -> latency_s + steps * message_bytes / bytes_per_s
Where is the latency?
    (latency_s + message_bytes / bytes_per_s) -> message_bytes / bytes_per_s
The rate counts bytes, not bits
    + message_bytes / -> + 8 * message_bytes /
That is one round; they come one after the other
    bytes_per_rank, seconds -> bytes_per_rank, seconds / max(steps, 1)
"""

EXERCISE = function_exercise(
    __name__,
    calls=costs_of_the_bad_ring,
    label="the bad ring",
    tolerance=1e-6,  # seconds in float32 are right, too
    mistakes=MISTAKES,
    hints="""
Count on your fingers for 3 ranks: how many rounds are there, and how many parcels move in one round?
All ranks send at the same time, each through its own port. So a round takes as long as one message.
One message of n bytes takes latency_s + n / bytes_per_s, and every round pays the latency again.
""",
)
