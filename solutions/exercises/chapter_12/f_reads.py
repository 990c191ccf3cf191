"""Exercise 12f: pieces of a row, saved by some ranks and filled up with zeros, are read by others."""

from course_lib.grading.exercises.common import function_exercise


def resumes(rng):
    """Fewer ranks and more, equally many, one; rows that divide and that do not; ranks that hold nothing but filling."""
    yield from [(10, 4, 3), (12, 4, 2), (10, 4, 4), (10, 1, 3), (9, 3, 1), (3, 2, 5), (9, 8, 2), (1, 3, 3)]
    for _ in range(3):
        yield tuple(int(each) for each in rng.integers((20, 2, 2), (2000, 8, 9)))


MISTAKES = r"""
Behind the row's last number a file has zeros, and they are no numbers: stop at `length`
    min((rank + 1) * wanted, length) -> (rank + 1) * wanted
or
    min((rank + 1) * wanted, length) -> (rank + 1) * wanted
    wanted - (end - begin)] -> max(0, (rank + 1) * wanted - max(length, rank * wanted))]
The files were cut by the ranks of then, and not by those of now
    saved, wanted = -(-length // saved_by), -> saved, wanted = -(-length // ranks),
The row has `length` numbers: the zeros in the files do not make it longer
    , -(-length // ranks) -> , -(-length // saved_by)
    plan = [] -> wanted, plan = -(-saved * saved_by // ranks), []
or
    saved, wanted = -(-length // saved_by) -> length = -(-length // saved_by) * saved_by\n    saved, wanted = length // saved_by
The ranks of now have pieces of another length than the files
    , -(-length // ranks) -> , -(-length // saved_by)
All pieces are equally long, rounded up; the page's training gives the first ranks one number more
    answer first_ranks_have_more
Where the row does not divide, rounding down leaves its last numbers to nobody
    saved, wanted = -(-length // saved_by), -(-length // ranks) -> saved, wanted = length // saved_by, length // ranks
first and stop count within their file, not from the row's first number
    [file, first - file * saved, stop - file * saved] -> [file, first, stop]
stop is the first place that is not read
    stop - file * saved] -> stop - file * saved - 1]
The third value is where to stop, not how many
    stop - file * saved] -> stop - first]
Leave out files of which the rank reads nothing
    first < stop -> True
Several ranks may have to fill up: each its own piece, to the length of all
    wanted - (end - begin)] -> (wanted * ranks - length) * (rank == ranks - 1)]
A rank that reads nothing has a piece, too: zeros, as many as all others have numbers
    plan.append([parts, wanted - (end - begin)]) -> plan.append([parts, (wanted - (end - begin)) * bool(parts)])
or
    plan.append([parts, wanted - (end - begin)]) -> parts and plan.append([parts, wanted - (end - begin)])
Each rank reads what it needs; here every one reads all
    max(begin, file * saved), min(end, (file + 1) * saved) -> file * saved, min(length, (file + 1) * saved)
With other ranks, files are not whole pieces any more: which numbers of the row are yours, and which are the file's?
    for file in range(saved_by) -> for file in range(rank, min(rank + 1, saved_by))
    max(begin, file * saved), min(end, (file + 1) * saved) -> file * saved, min(length, (file + 1) * saved)
"""

EXERCISE = function_exercise(
    __name__,
    calls=resumes,
    label="eleven restarts",
    mistakes=MISTAKES,
    hints="""
How long is a file's piece, how long one of now? -(-length // ranks) rounds up.
In the row, file k has the numbers from k * saved on, and rank r needs those from r * wanted on, both up to `length` at most. What do they share?
From max of the two beginnings to min of the two ends; take k * saved away from both. What is then missing of `wanted` is zeros.
""",
)
