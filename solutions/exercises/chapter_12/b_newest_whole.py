"""Exercise 12b: the newest checkpoint that is whole on all ranks."""

import zlib

from course_lib.grading.exercise import Case
from course_lib.grading.exercises.common import function_exercise

# The first step, how far apart they are, and what became of each rank's file, checkpoint by checkpoint.
FOLDERS = (
    (8, 1, ["whole whole", "whole whole", "whole torn"]),
    (9, 1, ["whole", "whole"]),
    (85, 10, ["whole", "whole", "whole"]),
    (20, 10, ["whole whole whole", "whole flipped whole", "whole whole missing"]),
    (70, 40, ["whole torn", "missing whole"]),
    (40, 30, ["whole whole", "whole unnamed", "unnamed unnamed"]),
    (60, 50, ["whole whole", "empty whole"]),
    (5, 5, []),
    (30, 10, ["whole whole", "whole torn whole", "whole missing whole"]),  # of three ranks, when there are two
    (30, 10, ["whole whole", "whole whole whole", "whole torn whole"]),  # the same, and the others are whole, too
    (15, 5, ["whole whole", "whole longer", "longer whole"]),
    (400, 250, ["whole whole whole whole", "whole whole whole whole", "torn whole whole whole", "flipped " * 4]),
)


def folders(rng):
    """Files that are whole, torn, changed, empty, longer than they say, missing, or not yet renamed, in the order that a folder gives."""
    calls = []
    for number, (first, apart, states) in enumerate(FOLDERS):
        first += int(rng.integers(0, 3)) * (number > 2)
        rows = [(first + apart * place, row.split()) for place, row in enumerate(states)]
        files = [_file(rng, step, r, each) for step, row in rows for r, each in enumerate(row) if each != "missing"]
        ranks = len(rows[0][1]) if rows else 2
        whole = [step for step, row in rows if set(row[:ranks]) == {"whole"}]
        rng.shuffle(files)
        while len(whole) > 1 and whole[-1] == _by_place(files, whole)[number % 2]:
            rng.shuffle(files)
        calls.append((files, ranks))
    yield Case(1, calls, (), label=f"{len(FOLDERS)} folders")


def _file(rng, step, rank, state):
    """Name, length, checksum, content."""
    content = " ".join(map(str, rng.integers(10, 100, 4)))
    name, length, checksum = f"step-{step}.rank-{rank}", len(content), zlib.crc32(content.encode())
    if state == "torn":
        content = content[: int(rng.integers(3, 9))]
    if state == "flipped":
        place = 3 * int(rng.integers(4))
        content = content[:place] + str((int(content[place]) + 1) % 10) + content[place + 1 :]
    if state == "longer":
        length -= 3
    if state == "empty":
        content, checksum = "", 0
    return [name + ".tmp" * (state == "unnamed"), length, checksum, content]


def _by_place(files, whole):
    """The steps of the first and of the last file in the list whose checkpoint is whole."""
    steps = [int(name.removeprefix("step-").split(".")[0]) for name, *_ in files]
    found = [step for step in steps if step in whole]
    return found[0], found[-1]


MISTAKES = r"""
Steps are numbers: as text, step-9 stands behind step-10
    default=-1) -> default=-1, key=str)
Torn: a file must be as long as its head says. The checksum of nothing is 0
     or len(content) != length ->
or
    len(content) != length -> len(content) < length
Its length is not enough: compare zlib.crc32 of the content with the checksum
     or zlib.crc32(content.encode()) != checksum ->
Torn and changed files do not count
     or len(content) != length or zlib.crc32(content.encode()) != checksum ->
What ends in .tmp was never renamed
    name.endswith(".tmp") or ->
    name.removeprefix -> name.removesuffix(".tmp").removeprefix
A folder gives its files in any order: of the whole checkpoints the one of the largest step is newest
    max((step -> next((step
    default=-1) -> -1)
or
    max((step -> next((step
    default=-1) -> -1)
    in files: -> in reversed(files):
As many files as ranks are not enough: those of ranks 0 to ranks - 1 must be there
    have >= set(range(ranks)) -> len(have) == ranks
That is the least of the ranks' newest, which not all have whole. Which steps do all have?
    max((step for step, have in holders.items() if have >= set(range(ranks))), default=-1) -> min(max([step for step, have in holders.items() if rank in have] or [-1]) for rank in range(ranks))
Rank 0's file is not all of a checkpoint: every rank's must be whole
    have >= set(range(ranks)) -> 0 in have
Without a whole checkpoint the answer is -1
    default=-1) -> default=None)
or
    default=-1) -> default=0)
"""

EXERCISE = function_exercise(
    __name__,
    cases=folders,
    mistakes=MISTAKES,
    hints="""
First one file: when is it whole? Then one rank: of which steps has it a whole file? Then all ranks.
A file is whole if its name has no .tmp, len(content) == length and zlib.crc32(content.encode()) == checksum.
Note the ranks of each step's whole files in a set; a step counts if its set has all of range(ranks).
""",
)
