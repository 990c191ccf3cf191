"""What the page of chapter 4 gives to its exercises."""

import types

import pytest
from exercise_answers import given

from course_lib.model_parallel.regions import RowKernel, needed_rows, owned_rows


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
