"""Exercise 12b: the newest checkpoint that is whole on all ranks."""

from __future__ import annotations

import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Sequence

import numpy as np

from course_lib.grading.exercise import Case
from course_lib.grading.exercises.common import Reasons, function_exercise

__all__ = ["EXERCISE"]

File = list  # name, length, checksum, content
Files = list[File]


# Cases

# The first step, how far apart they are, and what became of each rank's file, checkpoint by checkpoint.
FOLDERS: tuple[tuple[int, int, list[str]], ...] = (
    (8, 1, ["whole whole", "whole whole", "whole torn"]),
    (9, 1, ["whole", "whole"]),
    (85, 10, ["whole", "whole", "whole"]),
    (20, 10, ["whole whole whole", "whole flipped whole", "whole whole missing"]),
    (70, 40, ["whole torn", "missing whole"]),
    (40, 30, ["whole whole", "whole unnamed", "unnamed unnamed"]),
    (60, 50, ["whole whole", "empty whole"]),
    (5, 5, []),
    (30, 10, ["whole whole", "whole torn whole", "whole missing whole"]),  # of three ranks, when there are two
    (400, 250, ["whole whole whole whole", "whole whole whole whole", "torn whole whole whole", "flipped " * 4]),
)


def folders(rng: np.random.Generator) -> Iterator[Case]:
    """Files that are whole, torn, changed, empty, missing, or not yet renamed, in the order that a folder gives."""
    calls, expected = [], []
    for number, (first, apart, states) in enumerate(FOLDERS):
        shift = int(rng.integers(0, 3)) * (number > 2)
        steps = [first + shift + apart * place for place in range(len(states))]
        files = [
            _file(rng, step, rank, state)
            for step, row in zip(steps, states, strict=True)
            for rank, state in enumerate(row.split())
            if state != "missing"
        ]
        ranks = len(states[0].split()) if states else 2
        whole = [step for step, row in zip(steps, states, strict=True) if set(row.split()[:ranks]) == {"whole"}]
        newest = max(whole, default=-1)
        rng.shuffle(files)
        while len(whole) > 1 and newest == _by_place(files, ranks)[number % 2]:
            rng.shuffle(files)
        calls.append((files, ranks))
        expected.append(newest)
    yield Case(1, calls, expected, label=f"{len(FOLDERS)} folders")


def _file(rng: np.random.Generator, step: int, rank: int, state: str) -> File:
    content = " ".join(map(str, rng.integers(10, 100, 4)))
    name, length, checksum = f"step-{step}.rank-{rank}", len(content), zlib.crc32(content.encode())
    if state == "torn":
        content = content[: int(rng.integers(3, 9))]
    if state == "flipped":
        place = 3 * int(rng.integers(4))
        content = content[:place] + str((int(content[place]) + 1) % 10) + content[place + 1 :]
    if state == "empty":
        content, checksum = "", 0
    return [name + ".tmp" * (state == "unnamed"), length, checksum, content]


# Diagnoses


def _steps(
    files: Files, ranks: int, long: bool = True, checked: bool = True, named: bool = True, every: bool = False
) -> list[set[int]]:
    """For each rank the steps of which it has a whole file, if one looks at length, checksum and name."""
    found: list[set[int]] = [set() for _ in range(99)]
    for name, length, checksum, content in files:
        whole = not (long and len(content) != length) and not (checked and zlib.crc32(content.encode()) != checksum)
        if whole and not (named and name.endswith(".tmp")):
            step, rank = name.removesuffix(".tmp").removeprefix("step-").split(".rank-")
            found[int(rank)].add(int(step))
    return found if every else found[:ranks]


def _by_place(files: Files, ranks: int) -> tuple[int, int]:
    """The steps of the first and of the last file in the list whose checkpoint is whole, or -1."""
    whole = set.intersection(*_steps(files, ranks))
    steps = [int(name.removeprefix("step-").split(".")[0]) for name, *_ in files]
    found = [step for step in steps if step in whole] or [-1]
    return found[0], found[-1]


def _newest(found: Sequence[set[int]], key: Callable | None = None) -> int:
    return max(set.intersection(*found), default=-1, key=key)


def reasons(files: Files, ranks: int) -> Reasons:
    found = _steps(files, ranks)
    yield "Steps are numbers: as text, step-9 stands behind step-10", _newest(found, key=str)
    for text, slip in (
        ("Torn: a file must be as long as its head says. The checksum of nothing is 0", {"long": False}),
        ("Its length is not enough: compare zlib.crc32 of the content with the checksum", {"checked": False}),
        ("Torn and changed files do not count", {"long": False, "checked": False}),
        ("What ends in .tmp was never renamed", {"named": False}),
    ):
        yield text, _newest(_steps(files, ranks, **slip))
    for place in _by_place(files, ranks):
        yield (
            "A folder gives its files in any order: of the whole checkpoints the one of the largest step is newest",
            place,
        )
    counts = Counter(step for steps in _steps(files, ranks, every=True) for step in steps)
    enough = max((step for step, count in counts.items() if count == ranks), default=-1)
    yield "As many files as ranks are not enough: those of ranks 0 to ranks - 1 must be there", enough
    newest = [max(steps, default=-1) for steps in found]
    least = min(newest)
    yield "That is the least of the ranks' newest, which not all have whole. Which steps do all have?", least
    yield "Rank 0's file is not all of a checkpoint: every rank's must be whole", newest[0]
    right = _newest(found)
    yield "Without a whole checkpoint the answer is -1", right if right >= 0 else lambda came: came or None


# The exercise

EXERCISE = function_exercise(
    id="12b",
    title="The newest whole one",
    function="newest_whole",
    points=4,
    cases=folders,
    reasons=reasons,
    hints=(
        "First one file: when is it whole? Then one rank: of which steps has it a whole file? Then all ranks.",
        "A file is whole if its name has no .tmp, len(content) == length and zlib.crc32(content.encode()) == checksum.",
        "Note the ranks of each step's whole files in a set; a step counts if its set has all of range(ranks).",
    ),
)
