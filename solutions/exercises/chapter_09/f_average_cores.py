"""Exercise 09f: the mean of the cores' gradients, in one row of numbers."""

from course_lib.grading import rules
from course_lib.grading.exercise import Case
from course_lib.grading.exercises.chapter_09.shared import draw_cores
from course_lib.grading.exercises.common import FAILURES, given_nothing, rank_exercise

# ranks, (row mode, column mode) of each core, rank between the cores, trials with a changed message
SHAPES = (
    (1, ((2, 3), (3, 2), (2, 2)), 2, 0),
    (2, ((2, 3), (3, 2), (1, 4), (2, 2), (1, 3)), 2, 0),
    (3, ((2, 2), (3, 1), (1, 4), (2, 2), (3, 2)), 3, 1),
    (4, ((1, 3), (2, 3), (2, 2), (4, 1), (1, 2), (3, 1), (2, 1)), 2, 1),
    (5, ((2, 2), (1, 3), (2, 2), (3, 1), (1, 2), (2, 1), (2, 2), (1, 3)), 2, 0),
)


def gradients(rng):
    """On 3 or 5 ranks whole multiples of that, so that means are exact; on 2 or 4 they are so anyway."""
    for size, modes, rank, perturb in SHAPES:
        ranks = [rank] * (len(modes) - 1)
        times = size if size % 2 else 1
        own = [[times * core for core in draw_cores(rng, modes, ranks, most=99)] for _ in range(size)]
        label = f"world_size {size}, {len(modes)} cores"
        numbers = sum(core.numel() for core in own[0])
        yield Case(size, [(cores,) for cores in own], (), perturb, label, {"numbers": numbers})


MISTAKES = r"""
has the sum; asked for is the mean: divide by comm.world_size
    row /= comm.world_size ->
divided by the number of cores; divide by that of ranks
    row /= comm.world_size -> row /= len(gradients)
still has its own gradients: write the means into `gradients`, with copy_(...)
    gradient.copy_(part.reshape(gradient.shape)) -> gradient = part.reshape(gradient.shape)
has the beginning of the row in every core: go on where the core before ended
    part.reshape -> row[: gradient.numel()].reshape
took the cores out of the row in another order than they went in
    row.split([gradient.numel() for gradient in gradients]) -> row.split([each.numel() for each in reversed(gradients)])[::-1]
has the mean in its first core only; the other cores still hold its own gradients
    zip(gradients, parts, strict=True) -> zip(gradients[:1], parts, strict=False)
divided twice: by the number of ranks, once
    row /= comm.world_size -> row /= comm.world_size**2
... join the cores' gradients to one row
    all_reduce(comm, row) -> for part in row.split(1):\n        all_reduce(comm, part)
... times the cores' numbers, without padding
    all_reduce(comm, row) -> row = torch.cat([row, row])\n    all_reduce(comm, row)\n    row = row[: len(row) // 2]
"""

EXERCISE = rank_exercise(
    __name__,
    cases=gradients,
    rules=(
        rules.total_bytes(
            lambda case: 8 * (case.world_size - 1) * -(-case.about["numbers"] // case.world_size) * case.world_size,
            "2(p − 1) times the cores' numbers, without padding",
        ),
        rules.max_messages(
            lambda case: 2 * case.world_size * (case.world_size - 1),
            "join the cores' gradients to one row, and reduce that once",
        ),
    ),
    before=(*FAILURES, given_nothing),
    mistakes=MISTAKES,
    whole_multiples=False,  # of a mean
    hints="""
One all-reduce of a long row in place of many of short ones. torch.cat joins tensors of one dimension.
row = torch.cat([g.reshape(-1) for g in gradients]); all_reduce(comm, row); row /= comm.world_size.
Then cut it again: row.split([g.numel() for g in gradients]), and g.copy_(part.reshape(g.shape)) for each.
""",
)
