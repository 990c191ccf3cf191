"""What the page of chapter 4 gives to its exercises, and the law that one of them asks for."""

import types

import pytest
from exercise_answers import given

from course_lib.grading.exercises import find
from course_lib.grading.exercises.mistakes import function_of
from course_lib.model_parallel.halo import RowKernel, needed_rows, owned_rows
from course_lib.model_parallel.split_bytes import LINEAR_SPLITS, linear_traffic


@pytest.mark.parametrize("world_size", [1, 2, 3, 5])
@pytest.mark.parametrize(
    ("height", "size", "stride", "padding"), [(6, 2, 3, 0), (4, 4, 1, 0), (8, 3, 2, 1), (3, 3, 2, 0)]
)
def test_the_given_needed_rows_are_the_librarys_also_on_ranks_without_output(world_size, height, size, stride, padding):
    names: dict = {}
    exec(given("04"), names)
    kernel = RowKernel(size, stride, padding)
    outputs = owned_rows(kernel.output_height(height), world_size)
    needed = names["needed"](types.SimpleNamespace(world_size=world_size), height, size, stride, padding)
    assert needed == [tuple(needed_rows(output, kernel)) for output in outputs]


@pytest.mark.parametrize("world_size", [1, 2, 4])
def test_the_bytes_of_three_cuts_are_the_librarys_between_layers_that_are_cut_alike(world_size):
    layer = {"batch": 24, "inputs": 16, "outputs": 40, "world_size": world_size}
    law = [linear_traffic(split, alike=True, **layer).busiest_bytes for split in LINEAR_SPLITS]
    assert function_of(find("04c"))(**layer) == law
