"""Hands in each solution with one token changed: what still gets all points is equal, or a gap in the exercise's cases.

From the project's root `python tests/grading/one_token.py 04e` (or `04`, or several, or nothing for all) prints each
change of the solution that gets all points and is not listed in `mutants/04.txt` as equal in what the page asks for.
With `--all` it prints the listed ones, too; with `--no-judge` those that nobody but the judge finds, by its changed
messages; with `--names` it tries each name as each other one, which takes longer and finds much that is equal.

First each mutant runs as the notebook's check runs it, on the cases of three draws, and is out with the first that is
wrong; one that gets through in any draw is handed in to the judge. "2/3" are the draws it got through.
"""

import sys
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path
from unittest import mock

import numpy as np
from exercise_answers import Answer, cells_of
from mutants.changes import changed

from course_lib.grading.alone import alone, as_a_student
from course_lib.grading.exercise import Case, Exercise
from course_lib.grading.exercises import chapters, exercises_of, find
from course_lib.grading.exercises.mistakes import made
from course_lib.grading.exercises.sources import notebook_cells, program
from course_lib.grading.judge.grader import Grader, Limits
from course_lib.grading.judge.launcher import Launcher
from course_lib.grading.judge.protection import LEVELS, best_level
from course_lib.grading.rehearsal import cases as one_case
from course_lib.grading.verdict import findings

__all__ = ["Survivor", "equal_mutants", "gets_all_points", "survivors"]

DRAWS = 3
LIMIT_S = 0.5  # of a case; solutions take a tenth


@dataclass(frozen=True)
class Survivor:
    """A solution with one token changed that gets through in some of the draws."""

    exercise_id: str
    change: str
    source: str
    draws: int

    def __str__(self) -> str:
        return f"{self.exercise_id}: {self.change}"


def survivors(exercise: Exercise, other_names: bool = False) -> Iterator[Survivor]:
    """The mutants in which none but the judge may see what is wrong."""
    draws = [_cases(exercise, draw) for draw in range(DRAWS)]
    solved = partial(_passed, exercise, program(exercise.id)[1], draws, limit_s=one_case.LIMIT_S)  # imports as it runs
    assert solved() == DRAWS, f"the solution of {exercise.id} is wrong"
    for change, source in changed(program(exercise.id)[1], other_names):
        passed = _passed(exercise, source, draws)
        if passed:
            yield Survivor(exercise.id, change, source, passed)
    assert solved() == DRAWS, f"a mutant of {exercise.id} changed its cases"


def _cases(exercise: Exercise, draw: int) -> list[Case]:
    return list(exercise.cases(np.random.default_rng(zlib.crc32(f"{exercise.id} {draw}".encode()))))


def _passed(exercise: Exercise, source: str, draws: Sequence[Sequence[Case]], limit_s: float = LIMIT_S) -> int:
    """The number of draws that find nothing wrong with this answer, run as the check runs it."""
    try:
        function = made(program(exercise.id)[0], source, exercise.stand_ins, exercise.function)
    except Exception:  # a mutant may raise anything
        return 0
    silent = replace(exercise, diagnoses=())  # what is said of it takes most of the time

    def is_wrong(case: Case) -> bool:
        with as_a_student():
            outcome = one_case.run_case(exercise, case, function)
        return bool(findings(silent, case, outcome))

    with alone(), mock.patch.object(one_case, "LIMIT_S", limit_s):
        return sum(not any(map(is_wrong, cases)) for cases in draws)


@cache
def equal_mutants(chapter: str) -> dict[str, str]:
    """Changes of a chapter's solutions that are equal in what the page asks for, and why.

    A reason stands on a line, or several, and below it, indented, what it is true of: "04e: old line => new line".
    """
    path = Path(__file__).parent / "mutants" / f"{chapter}.txt"
    found: dict[str, str] = {}
    reason, below = "", True
    for line in path.read_text(encoding="utf-8").splitlines() if path.exists() else ():
        if line[:1].isspace():
            assert line.strip() not in found, f"{path} has this twice: {line.strip()}"
            found[line.strip()], below = reason, True
        elif line:
            reason, below = (line if below else f"{reason} {line}"), False
    return found


def gets_all_points(mutant: Survivor, grader: Grader) -> bool:
    """Whether the judge gives it all points, behind the solutions of the exercises before."""
    exercise = find(mutant.exercise_id)
    earlier = [source for name, source in notebook_cells(exercise.chapter) if name.endswith("-answer")]
    count = [each.id for each in exercises_of(exercise.chapter)].index(exercise.id)
    answer = Answer(exercise.id, "mutant", "\n# %%\n".join([*earlier[:count], mutant.source]))
    return grader.grade(exercise, cells_of(answer), "a student").points == exercise.points


@contextmanager
def _judge() -> Iterator[Grader]:
    with Launcher(LEVELS[best_level()]) as launcher:
        yield Grader(launcher, limits=Limits(cpu_s=3), secret=b"the same every time")


def main(arguments: Sequence[str]) -> None:
    flags = {each for each in arguments if each.startswith("--")}
    asked = [each for each in arguments if each not in flags] or chapters()
    with _judge() as grader:
        for exercise in (each for name in asked for each in ([find(name)] if name[2:] else exercises_of(name))):
            print(exercise.id, flush=True)
            listed = equal_mutants(exercise.chapter)
            for each in survivors(exercise, "--names" in flags):
                known = str(each) in listed
                if (not known and ("--no-judge" in flags or gets_all_points(each, grader))) or "--all" in flags:
                    print(f"    {each}   ({each.draws}/{DRAWS}{', listed' if known else ''})", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
