"""Tucker by HOSVD: its error law, its core, and what it stores."""

from math import prod, sqrt

import pytest
import torch

from course_lib.decomposition import hosvd, mode_errors, mode_product, mode_unfolding, truncated_svd, tucker_numbers

SHAPES = [(5,), (1, 6), (3, 7), (2, 3, 4), (4, 1, 5), (5, 2, 7, 3), (2, 3, 1, 4, 5), (2,) * 8]


def drawn(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def decaying(shape: tuple[int, ...]) -> torch.Tensor:
    """Singular values fall in every mode, so that an error of a few percent leaves some out."""
    tensor = drawn(*shape)
    for mode, length in enumerate(shape):
        tensor = mode_product(tensor, torch.diag(0.3 ** torch.arange(length, dtype=torch.float64)), mode)
    return tensor


def test_a_diagonal_of_three_numbers_by_hand():
    tensor = torch.zeros(3, 3, 3, dtype=torch.float64)
    tensor[0, 0, 0], tensor[1, 1, 1], tensor[2, 2, 2] = 12, 4, 3
    kept = hosvd(tensor, largest_rank=1)
    assert kept.ranks == (1, 1, 1)
    assert kept.numbers == 1 + 3 * 3
    assert mode_errors(tensor, kept.ranks) == pytest.approx([5, 5, 5])  # √(4² + 3²), in each mode
    assert (tensor - kept.full()).norm() == pytest.approx(5)  # and together no more, for all leave out the same


def test_unfoldings_and_products_by_hand():
    tensor = torch.arange(24).reshape(2, 3, 4)
    assert mode_unfolding(tensor, 2)[1].tolist() == [1, 5, 9, 13, 17, 21]
    summed = mode_product(tensor, torch.ones(1, 3, dtype=torch.int64), 1)
    assert torch.equal(summed, tensor.sum(1, keepdim=True))


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("make", [lambda shape: drawn(*shape), decaying])
@pytest.mark.parametrize("relative_error", [0.0, 1e-6, 0.01, 0.3, 0.9, 2.0])
def test_the_error_that_was_asked_is_kept(shape, make, relative_error):
    tensor = make(shape)
    kept = hosvd(tensor, relative_error)
    assert (tensor - kept.full()).norm() <= (relative_error + 1e-14) * tensor.norm()
    assert kept.numbers == tucker_numbers(shape, kept.ranks)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("largest_rank", [1, 2, 3])
def test_the_error_lies_between_the_largest_mode_error_and_the_root_of_the_squares(shape, largest_rank):
    tensor = decaying(shape)
    kept = hosvd(tensor, largest_rank=largest_rank)
    errors = mode_errors(tensor, kept.ranks)
    error = float((tensor - kept.full()).norm())
    assert max(errors) - 1e-14 <= error <= sqrt(sum(e * e for e in errors)) + 1e-14


def test_the_core_has_orthogonal_slices_that_shrink():
    core = hosvd(drawn(4, 5, 6)).core
    for mode in range(3):
        gram = mode_unfolding(core, mode) @ mode_unfolding(core, mode).T
        assert torch.allclose(gram, torch.diag(gram.diag()), atol=1e-12)
        assert (gram.diag().diff() <= 0).all()


@pytest.mark.parametrize("shape", [s for s in SHAPES if prod(s) > 1])
def test_with_all_ranks_it_is_the_tensor_itself(shape):
    tensor = drawn(*shape)
    assert torch.allclose(hosvd(tensor).full(), tensor, atol=1e-13)


def test_of_a_matrix_it_is_the_truncated_svd():
    matrix = drawn(6, 9)
    assert torch.allclose(hosvd(matrix, largest_rank=2).full(), truncated_svd(matrix, largest_rank=2).full())
