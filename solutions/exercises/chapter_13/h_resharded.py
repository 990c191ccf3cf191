"""Exercise 13h: a matrix that lies on one mesh, handed over to another by messages."""

import torch

from course_lib.grading import rules
from course_lib.grading.exercise import Case
from course_lib.grading.exercises.common import FAILURES, matrix, rank_exercise

SHAPES = (  # mesh before, mesh after, rows and columns, trials with a changed message
    ([1, 1, 1], [1, 1, 1], (3, 2), 0),
    ([1, 2, 1], [1, 1, 2], (4, 6), 1),
    ([1, 1, 3], [1, 3, 1], (2, 7), 0),  # with a rank that gets no row
    ([2, 1, 2], [1, 2, 2], (5, 4), 0),  # nobody lacks anything
    ([1, 2, 2], [2, 1, 2], (5, 6), 1),
    ([2, 2, 1], [1, 1, 4], (6, 8), 0),
    ([1, 2, 2], [1, 4, 1], (8, 6), 0),  # of a part that is not the first, a piece that is not its end
    ([1, 2, 3], [1, 3, 2], (11, 13), 0),
    ([2, 3, 1], [3, 1, 2], (7, 5), 0),
)


def meshes(rng):
    """Every rank has its part of a matrix on one mesh, and gets its part on the other."""
    for before, after, shape, perturb in SHAPES:
        ranks, whole = before[0] * before[1] * before[2], matrix(rng, *shape)
        new, old = ([block(whole, rank, mesh) for rank in range(ranks)] for mesh in (after, before))
        inputs = [(mine.clone(), before, after, list(shape)) for mine in old]
        number = torch.arange(whole.numel()).reshape(shape)
        has, gets = ([set(block(number, r, mesh).flatten().tolist()) for r in range(ranks)] for mesh in (before, after))
        about = {"bytes": 4 * sum(len(new - own) for own, new in zip(has, gets, strict=True))}
        label = f"mesh {before} to {after}, {shape[0]} × {shape[1]}"
        yield Case(ranks, inputs, [each.clone() for each in new], perturb, label, about)


def block(whole, rank, mesh):
    """A rank's part: rows cut over pipeline, columns over tensor, a copy for each data rank."""
    _, p, t = mesh
    return whole.tensor_split(p)[rank // t % p].tensor_split(t, 1)[rank % t]


MISTAKES = r"""
has its old part: that is what it had before
    return new -> return mine
has nothing but what it had itself: the rest comes from other ranks
    if comm.rank < copies and -> if False and
    comm.recv(box, rank) -> box.zero_()
has zeros where its own numbers belong: what it had, it keeps
    box = mine[top - row : end - row, left - column : right - column] -> box.zero_()
has numbers in wrong places: a piece's place counts from where the new part begins
    new[top - r : end - r, left - c : right - c] = box -> new[: end - top, : right - left] = box
... a number crosses once, and not to who has it already
    comm.rank != rank % copies -> comm.rank != rank
    rank == comm.rank % copies -> rank == comm.rank
... a number crosses once, and not to who has it already
    answer gathers_all
... a number crosses once, and not to who has it already
    answer each_copy_sends
"""

EXERCISE = rank_exercise(
    __name__,
    answer="return",
    cases=meshes,
    rules=(
        rules.total_bytes(lambda case: case.about["bytes"], "a number crosses once, and not to who has it already"),
        rules.max_messages(lambda case: case.world_size * (case.world_size - 1)),
    ),
    before=FAILURES,
    mistakes=MISTAKES,
    perturbation="receiver",
    hints="""
Two parts overlap in the rows from the later beginning to the earlier end, and in the columns likewise, if neither is empty.
Data rank 0 has a whole copy: ranks 0 to p × t - 1 of the old mesh. Which of these has what I have? Rank comm.rank % (p × t), so from that one I need nothing.
If I am one of them: to every rank isend what of mine it needs and its own old part does not have. Then, from each of them in turn, receive the overlap with my new part; of my own old part copy it. At last wait for what was sent.
""",
)
