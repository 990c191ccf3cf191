"""Exercise 13b: the groups of some dimensions of a mesh."""

from course_lib.grading.exercises.common import function_exercise


def meshes(rng):
    """Each dimension by itself, two together, all of them and none, in three dimensions, one, two and four."""
    yield from (([2, 2, 2], each) for each in ([2], [1], [0], [1, 2], [0, 2]))
    yield from [([3, 2, 4], [1]), ([3, 1, 2], [1])]
    for dimensions, number in ((3, 1), (3, 2), (4, 1), (4, 2)):
        mesh = rng.integers(1, 7, dimensions).tolist()
        yield mesh, sorted(rng.permutation(dimensions)[:number].tolist())
    yield from [([2, 3], []), ([4], [0]), ([2, 2, 3, 2], [1, 3]), ([2, 3, 2], [0, 1, 2])]


MISTAKES = r"""
With no dimension at all everybody is alone: groups of one rank
    range(ranks) -> range(ranks if dimensions else 0)
or
    if number -> if dimensions and number
The ranks of a group differ in these dimensions and agree in all others; there it is the other way
    number not in dimensions -> number in dimensions
Only the last dimension's groups are ranks side by side
    def groups -> import math\n\n\ndef groups
    fixed, left = [], rank -> fixed, left = [rank // math.prod(mesh[each] for each in dimensions)], rank
    fixed.append(place) -> continue
That counts with the first dimension fastest; the last one is innermost
    reversed(range(len(mesh))) -> range(len(mesh))
Groups are in the order of their first ranks
    list(found.values()) -> sorted(found.values(), key=max, reverse=True)
or
    list(found.values()) -> [found[key] for key in sorted(found)]
All groups, not only the one of rank 0
    list(found.values()) -> found[min(found)]
or
    list(found.values()) -> [found[min(found)]]
Every rank is in one group, and every group is there once
    list(found.values()) -> [group for rank in range(ranks) for group in found.values() if rank in group]
With several dimensions, one group has all ranks that differ in any of them
    return -> if len(dimensions) > 1:\n        return [each for one in dimensions for each in groups(mesh, [one])]\n    return
or
    not in dimensions -> not in dimensions[:1]
"""

EXERCISE = function_exercise(
    __name__,
    calls=meshes,
    label="fifteen groupings",
    mistakes=MISTAKES,
    hints="""
Two ranks are in one group if their coordinates agree in all dimensions that are not in `dimensions`.
Go through the ranks from 0 on. What of a rank's coordinates tells its group from all others?
A dictionary from the coordinates outside `dimensions` (as a tuple) to a list of ranks keeps both orders.
""",
)
