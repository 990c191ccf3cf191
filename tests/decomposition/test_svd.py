"""The truncated SVD: as near as its rank allows, and as small as its error allows."""

from math import sqrt

import pytest
import torch

from course_lib.decomposition import kept_rank, left_factor, truncated_svd

from .trains import drawn

SHAPES = [(1, 1), (1, 7), (6, 1), (5, 8), (9, 4), (6, 6)]


def test_three_four_twelve_by_hand():
    svd = truncated_svd(torch.diag(torch.tensor([12.0, 4.0, 3.0], dtype=torch.float64)), error=5)  # √(4² + 3²)
    assert (svd.rank, svd.numbers) == (1, 6)
    assert torch.equal(svd.full().abs(), torch.diag(torch.tensor([12.0, 0.0, 0.0], dtype=torch.float64)))
    assert kept_rank(torch.tensor([12.0, 4.0, 3.0]), error=4.99) == 2


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("share", [0.0, 0.01, 0.3, 0.9, 1.0, 2.0])
def test_the_error_is_kept_with_the_smallest_rank(shape, share):
    matrix = drawn(*shape)
    error = share * float(matrix.norm())
    svd = truncated_svd(matrix, error)
    assert (matrix - svd.full()).norm() <= error + 1e-14
    smaller = truncated_svd(matrix, largest_rank=svd.rank - 1).full() if svd.rank > 1 else torch.inf * matrix
    assert (matrix - smaller).norm() > error


@pytest.mark.parametrize("rank", [1, 2, 3])
def test_no_matrix_of_that_rank_that_we_try_is_nearer(rank):
    matrix = drawn(6, 5)
    kept = (matrix - truncated_svd(matrix, largest_rank=rank).full()).norm()
    assert kept == pytest.approx(sqrt(torch.linalg.svdvals(matrix)[rank:].square().sum()))
    for seed in range(200):
        left = torch.linalg.qr(drawn(6, rank, seed=seed)).Q
        assert (matrix - left @ (left.T @ matrix)).norm() > kept  # the best of this column space
    near = truncated_svd(matrix + 0.05 * drawn(6, 5, seed=1), largest_rank=rank).full()
    assert (matrix - near).norm() > kept


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize(("m", "n", "rank"), [(5, 7, 2), (64, 300, 5), (200, 200, 40)])
def test_rounding_is_no_rank(dtype, m, n, rank):
    assert truncated_svd((drawn(m, rank) @ drawn(rank, n)).to(dtype)).rank == rank


def test_a_matrix_of_zeros_has_rank_one_here():
    svd = truncated_svd(torch.zeros(3, 4))
    assert svd.rank == 1
    assert torch.equal(svd.full(), torch.zeros(3, 4))


@pytest.mark.parametrize("shape", [*SHAPES, (3, 40), (8, 16), (8, 15)])
@pytest.mark.parametrize("share", [0.0, 0.3, 0.9])
def test_the_left_factor_alone_leaves_out_what_the_whole_svd_leaves_out(shape, share):
    matrix = drawn(*shape)
    error = share * float(matrix.norm())
    u, svd = left_factor(matrix, error), truncated_svd(matrix, error)
    assert u.shape == svd.u.shape
    assert torch.allclose(u @ (u.T @ matrix), svd.full(), atol=1e-12)


@pytest.mark.parametrize("decompose", [truncated_svd, left_factor])
@pytest.mark.parametrize("shape", [(3, 4), (2, 9)])
def test_what_has_no_svd_here_is_refused_by_name(decompose, shape):
    with pytest.raises(ValueError, match=r"must be of float32 or float64, got torch\.bfloat16"):
        decompose(torch.ones(shape, dtype=torch.bfloat16))
    with pytest.raises(ValueError, match="must hold finite numbers"):
        decompose(torch.full(shape, torch.nan))
