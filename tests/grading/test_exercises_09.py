"""What chapter 9's solutions give is what the library's decompositions give."""

from math import prod

import numpy as np
import torch

from course_lib.decomposition import (
    TensorTrain,
    TTMatrix,
    tt_add,
    tt_matrix_numbers,
    tt_product,
    tt_scale,
    tt_svd,
    tucker_numbers,
)
from course_lib.grading.exercises import find
from course_lib.grading.exercises.mistakes import function_of

HELD = 10**6  # elements of a tensor that is made whole


def _calls(exercise_id):
    """(arguments, what the solution gives) of each call of fresh cases."""
    exercise = find(exercise_id)
    for case in exercise.cases(np.random.default_rng()):
        for call in case.inputs:
            yield call, function_of(exercise)(*call)


def test_numbers_that_are_stored_are_counted_as_the_library_counts_them():
    for (rows, columns, rank), (tucker, train, _) in _calls("09a"):
        modes = [m * n for m, n in zip(rows, columns, strict=True)]
        assert tucker == tucker_numbers(modes, [rank] * len(modes))
        assert train == tt_matrix_numbers(rows, columns, rank)


def test_an_element_is_that_of_the_train():
    for (cores, index), came in _calls("09b"):
        assert came == TensorTrain(tuple(cores)).element(index).item()


def test_a_train_has_the_ranks_of_the_librarys():
    for (tensor, relative_error), came in _calls("09c"):
        assert TensorTrain(tuple(came)).ranks == tt_svd(tensor, relative_error).ranks


def test_a_difference_is_that_of_the_trains():
    for (a, b), came in _calls("09d"):
        if prod(core.shape[1] for core in a) < HELD:
            right = tt_add(TensorTrain(tuple(a)), tt_scale(TensorTrain(tuple(b)), -1))
            assert torch.equal(TensorTrain(tuple(came)).full(), right.full())


def test_a_product_is_that_of_the_library():
    for (cores, x), came in _calls("09e"):
        assert torch.equal(came, tt_product(cores, x[None])[0])


def test_a_matrix_is_the_whole_tt_matrix():
    for (cores,), came in _calls("09g"):
        assert torch.equal(came, TTMatrix(tuple(cores)).full())
