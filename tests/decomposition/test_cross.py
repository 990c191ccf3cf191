"""TT-cross: a tensor train from a few values of a function, all of them counted."""

from itertools import combinations

import pytest
import torch

from course_lib.decomposition import TensorTrain, elements_at, maxvol, random_indices, tt_cross, tt_svd

SHAPES = [(5,), (1, 6), (3, 7), (4, 4, 4), (4, 1, 5, 2), (2,) * 9, (3, 5, 2, 4, 3)]


def drawn(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def train(shape: tuple[int, ...], rank: int) -> TensorTrain:
    ranks = [1, *[rank] * (len(shape) - 1), 1]
    return TensorTrain(tuple(drawn(ranks[k], n, ranks[k + 1], seed=k) for k, n in enumerate(shape)))


def test_a_sum_of_indices_by_hand():
    result = tt_cross(lambda indices: indices.sum(1).double(), [10] * 4, rank=2, sweeps=1)
    assert result.train.ranks == (1, 2, 2, 2, 1)
    assert result.evaluations == 10 * 2 + 2 * 10 * 2 + 2 * 10 * 2 + 2 * 10  # one block a mode
    assert result.train.element([9, 0, 3, 5]) == pytest.approx(17)


def test_the_rows_of_the_largest_determinant_by_hand():
    assert sorted(maxvol(torch.tensor([[1.0, 0.0], [0.0, 1.0], [5.0, 5.0], [-5.0, 5.0]])).tolist()) == [2, 3]


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("rank", [1, 2, 4])
@pytest.mark.parametrize("more", [0, 2])
def test_a_train_is_found_again_from_a_few_of_its_elements(shape, rank, more):
    hidden = train(shape, rank)
    found = tt_cross(lambda indices: elements_at(hidden, indices), shape, rank + more).train
    assert torch.allclose(found.full(), hidden.full(), atol=1e-9 * float(hidden.full().abs().max()))


@pytest.mark.parametrize("sweeps", [1, 2, 3])
def test_every_value_that_is_asked_for_is_counted(sweeps):
    asked = []

    def function(indices: torch.Tensor) -> torch.Tensor:
        asked.append(len(indices))
        return 1 / (1 + indices.sum(1).double())

    result = tt_cross(function, (4, 5, 6, 7), rank=3, sweeps=sweeps)
    assert result.evaluations == sum(asked) == sweeps * (4 * 3 + 3 * 5 * 3 + 3 * 6 * 3 + 3 * 7)


@pytest.mark.parametrize("rank", [2, 4, 6])
def test_its_error_is_not_far_from_that_of_the_svd_which_sees_all_values(rank):
    shape = (8,) * 4
    whole = 1 / (1 + sum(torch.meshgrid(*map(torch.arange, shape), indexing="ij"))).double()
    cross = tt_cross(lambda indices: 1 / (1 + indices.sum(1).double()), shape, rank).train.full()
    best = tt_svd(whole, largest_rank=rank).full()
    assert (whole - cross).norm() < 10 * (whole - best).norm()


def test_many_elements_are_the_single_ones():
    hidden, places = train((3, 4, 5), 2), random_indices((3, 4, 5), 20)
    singles = [float(hidden.element(place)) for place in places.tolist()]
    assert elements_at(hidden, places).tolist() == pytest.approx(singles)


@pytest.mark.parametrize(("n", "r"), [(6, 1), (9, 2), (8, 3), (4, 4), (60, 6), (200, 9)])
def test_no_row_is_a_large_combination_of_those_chosen(n, r):
    matrix = drawn(n, r)
    assert (matrix @ matrix[maxvol(matrix, tolerance=1.01)].inverse()).abs().max() <= 1.01 + 1e-9


@pytest.mark.parametrize(("n", "r"), [(6, 1), (9, 2), (8, 3), (4, 4)])
def test_no_other_rows_have_a_much_larger_determinant(n, r):
    matrix = drawn(n, r)
    chosen = maxvol(matrix, tolerance=1.0 + 1e-9)
    largest = max(matrix[list(rows)].det().abs() for rows in combinations(range(n), r))
    assert matrix[chosen].det().abs() * r ** (r / 2) >= largest  # Hadamard: entries up to 1


def test_zero_everywhere_is_found_too():
    assert torch.equal(
        tt_cross(lambda i: i.new_zeros(len(i)).double(), (3, 3, 3), 2).train.full(), torch.zeros(3, 3, 3)
    )


def test_what_is_no_function_of_numbers_is_refused():
    with pytest.raises(ValueError, match=r"not finite, at \[0, "):
        tt_cross(lambda indices: 1 / indices[:, 0].double(), (3, 3), 2)
    with pytest.raises(ValueError, match=r"each of 12 indices, it gave shape \(12, 1\)"):
        tt_cross(lambda indices: indices[:, :1].double(), (4, 3, 4), 3, sweeps=1)
    with pytest.raises(ValueError, match="rank 0 and 4 sweeps"):
        tt_cross(lambda indices: indices[:, 0].double(), (3, 3), 0)
    for shape in ((), (3, 0)):
        with pytest.raises(ValueError, match="one mode or more and no empty one"):
            tt_cross(lambda indices: indices[:, 0].double(), shape, 1)
