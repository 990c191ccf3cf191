"""Solutions with one token changed that once got all points: now a case of each exercise tells them apart."""

from functools import partial

import pytest
from one_token import DRAWS, _cases, _passed

from course_lib.grading.exercises import find
from course_lib.grading.exercises.sources import program
from course_lib.grading.rehearsal import cases as one_case

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
SHARE = "y = x @ weight.T + bias / comm.world_size\n    all_reduce(comm, y)\n    return y"
WHOLE = [  # a program, another way to write it that is right, and one that is right for whole numbers alone
    ("04b", "y = x @ weight.T\n    all_reduce(comm, y)\n    return y + bias", SHARE, SHARE.replace("/", "//")),
    ("04b", "y + bias", "(y + bias)", "(y + bias).round()"),
    ("05b", "y + second_bias", "(y + second_bias)", "(y + second_bias).round()"),
    ("10e", "wanted[places])", "wanted[places].clone())", "wanted[places].int().float())"),
]


@pytest.mark.parametrize(("exercise_id", "old", "right", "whole"), WHOLE)
def test_what_holds_for_whole_numbers_alone_gets_through_in_no_draw(exercise_id, old, right, whole):
    exercise, source = find(exercise_id), program(exercise_id)[1]
    assert source.count(old) == 1
    draws = [_cases(exercise, draw) for draw in range(DRAWS)]
    passed = partial(_passed, exercise, draws=draws, limit_s=one_case.LIMIT_S)
    assert (passed(source.replace(old, right)), passed(source.replace(old, whole))) == (DRAWS, 0)


@pytest.mark.parametrize(("exercise_id", "old", "new"), ONCE_PASSED)
def test_a_change_that_once_got_all_points_gets_through_in_no_draw(exercise_id, old, new):
    exercise, source = find(exercise_id), program(exercise_id)[1]
    assert old in source
    draws = [_cases(exercise, draw) for draw in range(DRAWS)]
    passed = partial(_passed, exercise, draws=draws, limit_s=one_case.LIMIT_S)
    assert (passed(source), passed(source.replace(old, new))) == (DRAWS, 0)
