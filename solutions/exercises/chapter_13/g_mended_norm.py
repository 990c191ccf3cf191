"""Exercise 13g: find the bugs in the norm of a gradient that lies on a mesh."""

from course_lib.grading.exercises.common import function_exercise

EMBEDDINGS = ("embedding", "tokens")  # names that one may have, of which a program can rely on none


def meshes(rng):
    """Each dimension alone and all together; tied embeddings and others; and numbers that are equal by accident."""
    sizes = [[1, 1, 1], [1, 1, 2], [1, 2, 1], [2, 1, 1], [1, 2, 2], [2, 2, 2], [1, 3, 2], [2, 3, 3]]
    for number, mesh in enumerate(sizes):
        yield (_parts(rng, mesh, EMBEDDINGS[number % 2], tied=number != 4),)
    yield ([[*place, [1, 1]] for *place, _ in _parts(rng, [1, 1, 2], EMBEDDINGS[0], tied=True)],)


def _parts(rng, mesh, name, *, tied):
    """What lies on all ranks: an embedding of this name, a split matrix and a shared norm on each stage, an output."""
    data, stages, tensor = mesh

    def drawn():
        return rng.integers(1, 30, 2).tolist()

    embedding, output = [drawn() for _ in range(tensor)], [drawn() for _ in range(tensor)]
    copy = []
    for stage in range(stages):
        norm = drawn()
        for t in range(tensor):
            if stage == 0:
                copy.append([stage, t, name, True, embedding[t]])
            copy += [[stage, t, f"linear{stage}", True, drawn()], [stage, t, f"norm{stage}", False, norm]]
            if stage == stages - 1 > 0:
                end = [name, True, embedding[t]] if tied else ["output", True, output[t]]
                copy.append([stage, t, *end])
    return [[d, *each] for d in range(data) for each in copy]


MISTAKES = r"""
That is the colleague's program: what is left out, and what counts twice?
    for _, _, -> for data, _,
    part not in seen -> data == tensor == 0
The split parameters are mended; the tied embedding is on two stages and still counts twice
    for _, _, -> for data, _,
    part not in seen -> data == 0 and (split or tensor == 0)
or
    for _, _, -> for data, stage,
    part not in seen -> data == 0 and (split or tensor == 0) and (stage == 0 or name != "embedding")
The embedding is mended; of split parameters the other tensor ranks have parts, too
    part not in seen -> part not in seen and tensor == 0
All tensor ranks have the same gradient of what is not split: it counts once
    tensor if split else 0 -> tensor
All that lies anywhere is too much: many numbers are there several times
    part not in seen -> True
All data ranks have the same gradients: they count once
    for _, _, -> for data, _,
    (name, -> (data, name,
A tied embedding counts once, on one of its two stages
    part not in seen -> part not in seen and name not in ("embedding", "tokens")
The norm is the whole model's: all stages have a part
    for _, _, -> for _, stage,
    part not in seen -> part not in seen and stage == 0
Parts of two tensor ranks are two parts, equal or not: tell them by name and rank, not by their numbers
    tensor if split else 0 -> *gradient
or
    (name, tensor if split else 0) -> tuple(gradient)
Norms do not add up, their squares do
    in gradient) -> in gradient) ** 0.5
    squares**0.5 -> squares
The norm is the root of the sum of the squares
    squares**0.5 -> squares
"""

EXERCISE = function_exercise(
    __name__,
    calls=meshes,
    label="nine meshes",
    tolerance=1e-9,
    mistakes=MISTAKES,
    hints="""
Each number of the model counts once. Which ranks have the same number, and which have another part of it?
Of a split parameter all tensor ranks have a part; of one that is not split only tensor rank 0 may count.
A tied embedding comes by the same name on two stages: count a pair (name, tensor rank) once.
""",
)
