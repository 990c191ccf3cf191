"""Exercise 13a: where a rank is on a mesh, and which rank is some steps further in a dimension."""

import math

from course_lib.grading.exercises.common import function_exercise


def moves(rng):
    """Three dimensions of different sizes, and one, two and four; steps forward, backward, around and none."""
    yield from [(17, [2, 3, 4], 1, 1), (17, [2, 3, 4], 1, 2), (17, [2, 3, 4], 2, -2), (5, [2, 3, 4], 0, 1)]
    yield from [(3, [5], 0, 4), (7, [4, 3], 0, -3), (0, [1, 2, 1], 1, 0), (37, [2, 3, 5, 4], 1, 1)]
    for dimensions in (3, 3, 3, 4):
        mesh = rng.integers(2, 10, dimensions).tolist()
        rank, dimension = int(rng.integers(math.prod(mesh))), int(rng.integers(dimensions))
        yield rank, mesh, dimension, int(rng.integers(1, 9))


MISTAKES = r"""
There the first dimension counts fastest. The last one does: its neighbors are ranks side by side
    in reversed(mesh) -> in mesh
    places.insert(0, left % size) -> places.append(left % size)
    enumerate(zip(places, mesh, strict=True)) -> reversed(list(enumerate(zip(places, mesh, strict=True))))
Behind the last rank of a dimension comes its first one
    (number == dimension)) % size -> (number == dimension))
A move stays in its group; that one goes on in the next
    (number == dimension)) % size -> (number == dimension))
    def moved -> import math\n\n\ndef moved
    , there] -> , there % math.prod(mesh)]
A step is as long as all dimensions further in have ranks, multiplied
    , there] -> , rank + steps]
or
    def moved -> import math\n\n\ndef moved
    , there] -> , (rank + steps) % math.prod(mesh)]
The coordinates are those of `rank`, before the move
    return -> places[dimension] = (places[dimension] + steps) % mesh[dimension]\n    return
Two things are asked for, [coordinates, rank]
    [places, there] -> there
or
    [places, there] -> places
The second is a rank, one number
    , there] -> , [(place + steps * (number == dimension)) % mesh[number] for number, place in enumerate(places)]]
"""

EXERCISE = function_exercise(
    __name__,
    calls=moves,
    label="twelve moves",
    mistakes=MISTAKES,
    hints="""
Begin with the last dimension: rank % mesh[-1] is the place in it, rank // mesh[-1] is left for the others.
Move: (place + steps) % mesh[dimension]. Python's % is never negative here.
Back to a rank: begin with 0, and for each dimension from the first, rank = rank * size + place.
""",
)
