"""The exercises of chapter 2: what their cases hold, and that what they expect is right."""

import nbformat
import numpy as np
import pytest
import torch
from exercise_answers import SOLUTIONS

from course_lib import Network, simulate
from course_lib.collectives.ring import ring_all_reduce_seconds
from course_lib.collectives.trees import tree_all_reduce_seconds
from course_lib.grading.exercises import exercises_of, find
from course_lib.grading.exercises.mistakes import function_of

IDS = [exercise.id for exercise in exercises_of("02")]


@pytest.mark.parametrize("exercise", [e for e in exercises_of("02") if e.mode == "ranks"], ids=lambda e: e.id)
def test_cases_hold_one_rank_an_odd_number_of_them_and_a_length_that_they_do_not_divide(exercise):
    cases = list(exercise.cases(np.random.default_rng()))
    sizes = [case.world_size for case in cases]
    assert 1 in sizes
    assert any(size & (size - 1) for size in sizes)
    assert any(case.tensor.numel() % case.world_size for case in cases)
    assert sum(case.world_size * (1 + case.perturb) for case in cases) <= 40
    assert any(case.perturb for case in cases)


@pytest.mark.parametrize("exercise_id", ["02a", "02b", "02c", "02d", "02f"])
def test_some_case_has_fewer_elements_than_ranks(exercise_id):
    cases = find(exercise_id).cases(np.random.default_rng())
    assert any(case.tensor.numel() < case.world_size for case in cases)


@pytest.mark.parametrize("world_size", [4, 5, 8, 100, 1024])
def test_ring_and_tree_take_equally_long_where_the_solution_says(world_size):
    network = Network(latency_s=3e-6, bytes_per_s=5e9)
    meeting = function_of(find("02h"))(world_size, network.latency_s, network.bytes_per_s)
    ring, tree = (each(meeting, world_size, network) for each in (ring_all_reduce_seconds, tree_all_reduce_seconds))
    assert ring == pytest.approx(tree, rel=1e-12)


# The notebooks


def test_the_ring_to_mend_is_right_for_two_ranks_and_wrong_for_three():
    cells = {cell.id: cell.source for cell in nbformat.read(SOLUTIONS["02"], as_version=4).cells}
    names = {"torch": torch}
    exec(cells["f-given"], names)

    def program(comm):
        tensor = torch.tensor([float(10**comm.rank)])
        names["two_box_ring"](comm, tensor)
        return tensor.item()

    assert simulate(program, 2).results == [11, 11]
    assert simulate(program, 3).results == [20, 200, 2]  # twice the number of the rank two to the left
