"""One-token changes of solutions: those that once got all points, and the lists of those that are equal."""

from functools import partial
from pathlib import Path

import pytest
from mutants.changes import changed
from one_token import DRAWS, Survivor, _cases, _judge, _passed, equal_mutants, gets_all_points, survivors

from course_lib.grading.exercises import chapters, exercises_of, find
from course_lib.grading.exercises.sources import program

ONCE_PASSED = [
    ("01e", "squares / message[-1] - mean**2", "squares / message[-1] % mean**2"),
    ("01g", "sum(buffers)) / comm.world_size", "sum(buffers)) // comm.world_size"),
    ("02e", "if comm.rank % (2 * distance) == distance", "if comm.rank % (2**distance) == distance"),
    ("02e", "elif comm.rank % (2 * distance) == 0", "elif comm.rank % (2**distance) == 0"),
    ("02i", "comm.rank >= core", "comm.rank == core"),
    ("02i", "comm.recv(incoming, comm.rank + core)", "comm.recv(incoming, core)"),
    ("02i", "comm.send(tensor, comm.rank - core)", "comm.send(tensor, core - comm.rank)"),
    ("04e", "comm.recv(rows[low - start : high - start], rank)", "comm.recv(rows[low - start : high - start])"),
    ("05d", "amax", "amin"),
    ("05f", "(tensor - 1) / tensor", "(tensor - 1) // tensor"),
    ("05h", "scores.amax", "scores.amin"),
    ("06d", "schedule, forward, backward", "schedule, backward, forward"),
]


@pytest.mark.parametrize(("exercise_id", "old", "new"), ONCE_PASSED)
def test_a_change_that_once_got_all_points_gets_through_in_no_draw(exercise_id, old, new):
    exercise, source = find(exercise_id), program(exercise_id)[1]
    assert old in source
    passed = partial(_passed, exercise, draws=[_cases(exercise, draw) for draw in range(DRAWS)])
    assert (passed(source), passed(source.replace(old, new))) == (DRAWS, 0)


@pytest.mark.parametrize("chapter", chapters())
def test_a_change_that_is_listed_as_equal_is_one_of_the_solution(chapter):
    made = {f"{each.id}: {change}" for each in exercises_of(chapter) for change, _ in changed(program(each.id)[1])}
    assert sorted(set(equal_mutants(chapter)) - made) == []


LISTS = sorted(path.stem for path in (Path(__file__).parent / "mutants").glob("*.txt"))


@pytest.mark.exhaustive
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("chapter", LISTS)
def test_each_change_of_a_solution_that_gets_all_points_is_listed_as_equal(chapter):
    found: list[Survivor] = [each for exercise in exercises_of(chapter) for each in survivors(exercise)]
    with _judge() as grader:
        left = [each for each in found if str(each) not in equal_mutants(chapter)]
        assert [str(each) for each in left if gets_all_points(each, grader)] == []
