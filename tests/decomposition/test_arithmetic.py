"""Arithmetic on trains gives what arithmetic on the tensors gives, and takes what its formulas say."""

import pytest
import torch

from course_lib.decomposition import (
    TensorTrain,
    count,
    orthogonalize,
    tt_add,
    tt_inner,
    tt_inner_flops,
    tt_multiply,
    tt_multiply_flops,
    tt_norm,
    tt_round,
    tt_round_flops,
    tt_scale,
    tt_svd,
)

from .trains import drawn, train, whole

PAIRS = [
    ((5,), [], []),
    ((3, 7), [2], [3]),
    ((2, 3, 4), [2, 3], [1, 2]),
    ((1, 4, 1, 2), [1, 3, 2], [2, 2, 2]),
    ((5, 2, 7, 3), [4, 6, 3], [2, 5, 1]),
    ((2, 3, 2, 4, 3), [9, 1, 7, 2], [1, 8, 2, 5]),  # ranks that the modes cannot fill, too
]


@pytest.fixture(params=PAIRS, ids=str)
def pair(request):
    shape, first, second = request.param
    return train(shape, first, make=whole), train(shape, second, seed=7, make=whole)


def test_ranks_of_one_by_hand():
    # (1 2) ⊗ (1 10 100) + (3 4) ⊗ (1 1 1)
    a = TensorTrain((torch.tensor([[[1.0], [2.0]]]), torch.tensor([[[1.0], [10.0], [100.0]]])))
    b = TensorTrain((torch.tensor([[[3.0], [4.0]]]), torch.tensor([[[1.0], [1.0], [1.0]]])))
    assert tt_add(a, b).full().tolist() == [[4, 13, 103], [6, 24, 204]]
    assert tt_multiply(a, b).full().tolist() == [[3, 30, 300], [8, 80, 800]]
    assert tt_inner(a, b) == 333 + 888
    assert tt_inner_flops(a, b) == 2 * 2 * 2 + 2 * 3 * 2  # two products a mode, of one number each


def test_sums_and_products_are_those_of_the_tensors(pair):
    a, b = pair
    assert torch.equal(tt_add(a, b).full(), a.full() + b.full())
    assert torch.equal(tt_multiply(a, b).full(), a.full() * b.full())
    assert torch.equal(tt_scale(a, -2).full(), -2 * a.full())
    assert tt_inner(a, b) == (a.full() * b.full()).sum()


def test_ranks_add_up_and_multiply(pair):
    a, b = pair
    assert tt_add(a, b).ranks[1:-1] == tuple(r + s for r, s in zip(a.ranks, b.ranks, strict=True))[1:-1]
    assert tt_multiply(a, b).ranks == tuple(r * s for r, s in zip(a.ranks, b.ranks, strict=True))


def test_what_is_counted_is_what_the_formulas_say(pair):
    a, b = pair
    assert count(tt_add, a, b).flops == 0
    assert count(tt_multiply, a, b).flops == tt_multiply_flops(a, b)
    assert count(tt_inner, a, b).flops == tt_inner_flops(a, b)
    for relative_error in (0.0, 0.3):
        counts = count(tt_round, a, relative_error)
        assert counts.flops == tt_round_flops(a, counts.result)


def test_orthonormal_rows_leave_the_tensor_and_put_its_norm_in_front(pair):
    a, _ = pair
    turned = orthogonalize(a)
    torch.testing.assert_close(turned.full(), a.full())
    for core in turned.cores[1:]:
        rows = core.flatten(1)
        torch.testing.assert_close(rows @ rows.T, torch.eye(len(rows), dtype=rows.dtype))
    assert tt_norm(a) == pytest.approx(float(a.full().norm()))


def test_the_norm_of_a_difference_keeps_the_digits_that_an_inner_product_loses():
    a = train((4, 5, 6), 2)
    again = tt_svd(a.full())  # other cores, the same tensor up to rounding
    assert tt_norm(tt_add(again, tt_scale(a, -1))) < 1e-14 * tt_norm(a)


@pytest.mark.parametrize("relative_error", [0.0, 1e-10, 0.01, 0.2, 0.7, 1.0, 2.0])
def test_rounding_keeps_the_error_that_was_asked(pair, relative_error):
    a, b = pair
    for each in (a, tt_add(a, b), tt_multiply(a, b), tt_add(a, tt_scale(b, 1e-6)), tt_scale(a, 0)):
        tensor = each.full()
        rounded = tt_round(each, relative_error)
        assert (tensor - rounded.full()).norm() <= (relative_error + 1e-13) * tensor.norm()
        assert all(new <= old for new, old in zip(rounded.ranks, each.ranks, strict=True))


def test_rounding_finds_the_ranks_that_the_tensor_has(pair):
    a, _ = pair
    twice = tt_add(a, tt_scale(a, 2))
    assert tt_round(twice).ranks == tt_round(a).ranks == tt_svd(a.full()).ranks


def test_rounding_and_tt_svd_agree_where_both_may_cut():
    tensor = train((5, 2, 7, 3), 2).full() + 0.01 * drawn(5, 2, 7, 3, seed=9)
    exact = tt_svd(tensor)
    for relative_error in (0.0, 0.01, 0.1, 0.5):
        rounded, direct = tt_round(exact, relative_error), tt_svd(tensor, relative_error)
        assert rounded.ranks == direct.ranks
        torch.testing.assert_close(rounded.full(), direct.full())


def test_rounding_to_a_largest_rank_keeps_none_above_it():
    assert tt_round(train((5, 2, 7, 3), [4, 6, 3]), largest_rank=2).ranks == (1, 2, 2, 2, 1)


@pytest.mark.parametrize("function", [tt_add, tt_multiply, tt_inner])
def test_other_modes_are_refused(function):
    with pytest.raises(ValueError, match=r"got \(2, 3\) and \(3, 2\)"):
        function(train((2, 3), 1), train((3, 2), 1))
