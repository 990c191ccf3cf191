"""Exercise 04e: the halo exchange in front of a convolution with any stride and padding."""

from course_lib.grading import rules
from course_lib.grading.exercise import Case
from course_lib.grading.exercises.common import FAILURES, matrix, rank_exercise
from course_lib.model_parallel.halo import RowKernel, halo_plan

SHAPES = (  # ranks, rows, kernel, stride, padding, trials with a changed message
    (1, 5, 3, 1, 0, 0),
    (2, 8, 3, 1, 1, 1),
    (2, 8, 3, 2, 1, 0),
    (2, 9, 2, 3, 0, 0),  # with a row that nobody needs, not even the rank that has it
    (3, 11, 5, 2, 2, 1),
    (3, 7, 3, 1, 0, 0),
    (4, 6, 5, 1, 2, 0),  # a halo of two rows, where neighbors have one or two
)


def pictures(rng):
    """Every rank has its rows, and gets all rows that its part of the output is made of, zeros where padding is."""
    for world_size, height, *kernel, perturb in SHAPES:
        inputs = [(rows, height, *kernel) for rows in matrix(rng, height, 6).tensor_split(world_size)]
        size, stride, padding = kernel
        label = f"{world_size} ranks, {height} rows, kernel {size}, stride {stride}, padding {padding}"
        crossing = sum(transfer.rows.number for transfer in halo_plan(height, RowKernel(*kernel), world_size))
        yield Case(world_size, inputs, [], perturb, label, {"bytes": 6 * 4 * crossing})


MISTAKES = r"""
kept rows of its own that its part of the output is not made of: kernel and stride decide what it needs
    rows, sent = -> start, stop = min(start, first), max(stop, end)\n    rows, sent =
has its own rows and nothing more: where is the halo?
    return rows -> return mine
has no rows of zeros where the picture ends: padding is part of what the kernel sees
    return rows -> return rows[max(0, -start) : height - start]
has a row of each neighbor, needed or not: how many it needs on each side, kernel and stride decide
    has, needs = owned(comm, height), needed(comm, height, kernel, stride, padding) -> has = owned(comm, height)\n    needs = [(low - 1 if low else -padding, high + (1 if high < height else padding)) for low, high in has]
has zeros where its neighbors' rows belong
    if low < high and rank != comm.rank: -> if False:
    elif low < high: -> elif False:
has zeros where rows of a rank further away belong: a halo may be larger than a neighbor's part
    if low < high and rank != comm.rank: -> if low < high and abs(rank - comm.rank) == 1:
    elif low < high: -> elif low < high and abs(rank - comm.rank) == 1:
begins too late: padding moves the first row up, to start × stride - padding
    needed(comm, height, kernel, stride, padding) -> [(low + padding, high + padding) for low, high in needed(comm, height, kernel, stride, padding)]
here a rank has rows that it does not need itself: it keeps of its own what it needs
    if low < high and rank == comm.rank:\n            rows[low - start : high - start] = mine[low - first : high - first] -> if rank == comm.rank:\n            rows[first - start : end - start] = mine
took for one rank's rows whatever came first: name the rank that you receive from, or look whom recv says it came from
    comm.recv(rows[low - start : high - start], rank) -> comm.recv(rows[low - start : high - start])
"""

EXERCISE = rank_exercise(
    __name__,
    answer="return",
    cases=pictures,
    rules=(
        rules.total_bytes(lambda case: case.about["bytes"], "no row crosses that its receiver does not need"),
        rules.max_messages(lambda case: 2 * case.world_size * (case.world_size - 1)),
    ),
    before=FAILURES,
    mistakes=MISTAKES,
    perturbation="receiver",
    hints="""
Write down, for each rank, the rows that it has and the rows that it needs. What crosses is where the rows that one needs overlap those that another has.
`owned` and `needed` tell both for all ranks. A sends to B from max(first row that B needs, first row of A) to min(end of what B needs, end of A), if that is not empty.
Begin with zeros for all rows that you need; copy your own in; for each other rank, isend what it needs of yours, and receive what you need of its rows into its place.
""",
)
