"""What each format stores, at the same error: on a function, a photograph and a layer that was trained."""

import pytest
import torch

from course_lib.decomposition import (
    Storage,
    TTLinear,
    best_svd,
    function_on_grid,
    load_photo,
    storage_at_rank,
    storage_of,
    tensorize,
    train_digits_weight,
    tt_numbers,
    tt_svd,
    tucker_numbers,
)


def test_a_tensor_of_ones_by_hand():
    # one column and one row of 4 + 16; a core of 1 and three columns; three cores of 4
    assert storage_of(torch.ones(4, 4, 4), 0.0) == Storage(64, 20, 13, 12)


@pytest.mark.parametrize("shape", [(4, 4), (4, 4, 4), (2, 3, 4, 5), (3,) * 7])
def test_what_is_counted_on_the_sine_of_a_sum_is_what_rank_two_says(shape):
    assert storage_of(function_on_grid(torch.sin, shape), 1e-9) == storage_at_rank(shape, rank=2)


def test_the_best_unfolding_is_the_one_with_the_fewest_numbers():
    tensor = function_on_grid(torch.exp, (2, 3, 4))  # exp of a sum is a product, rank 1: only the shapes differ
    svd = best_svd(tensor, 1e-9)
    assert (svd.rank, svd.numbers) == (1, 6 + 4)  # not 2 + 12
    assert torch.allclose(svd.full(), tensor.reshape(6, 4))


def test_the_core_of_tucker_grows_exponentially_and_a_train_by_equal_steps():
    train, tucker = zip(*[storage_at_rank([10] * d, 2)[:1:-1] for d in (20, 21, 22)], strict=True)
    assert train[2] - train[1] == train[1] - train[0] == 40  # one more core of 2 · 10 · 2
    assert tucker[2] - tucker[1] == 2 * (tucker[1] - tucker[0]) - 20  # twice the core, and 20 for a factor


def test_a_photograph_in_many_modes_is_larger_in_tucker_than_whole():
    photo = load_photo(256)
    stored = storage_of(tensorize(photo, [2] * 8, [2] * 8), 0.05)
    assert stored.tucker > stored.full
    assert stored.svd < stored.tensor_train < stored.full


def test_at_a_tenth_of_error_every_format_of_a_trained_layer_is_larger_than_the_layer():
    stored = storage_of(tensorize(train_digits_weight(), [4] * 3, [4] * 3), 0.1)
    assert min(stored) == stored.full == 4096


def test_tensorize_puts_a_pixel_where_its_blocks_say():
    picture = torch.arange(6 * 4).reshape(6, 4)
    tensor = tensorize(picture, [2, 3], [2, 2])
    for row in range(6):
        for column in range(4):
            place = (row // 3) * 2 + column // 2, (row % 3) * 2 + column % 2
            assert tensor[place] == picture[row, column]


def test_counts_are_those_of_the_decompositions():
    tensor = function_on_grid(torch.cos, (3, 4, 5))
    train = tt_svd(tensor, 1e-6)
    assert train.numbers == tt_numbers(tensor.shape, train.ranks)
    assert tucker_numbers((7, 8), (2, 3)) == 6 + 14 + 24


def test_what_cannot_be_decomposed_is_refused():
    with pytest.raises(ValueError, match="two modes or more"):
        storage_of(torch.ones(5), 0.1)
    with pytest.raises(ValueError, match=r"0 or more, got -0\.1"):
        storage_of(torch.ones(5, 2), -0.1)
    with pytest.raises(ValueError, match=r"float32 or float64, got torch.int64"):
        storage_of(torch.arange(4).reshape(2, 2), 0.1)
    with pytest.raises(ValueError, match=r"multiply to \(6, 4\)"):
        tensorize(torch.ones(6, 4), [2, 2], [2, 2])
    with pytest.raises(ValueError, match="divide 256"):
        load_photo(100)
    for shape, rank in (((5,), 1), ((5, 0), 1), ((5, 4), 0)):
        with pytest.raises(ValueError, match=rf"got shape .*5.* and rank {rank}"):
            storage_at_rank(shape, rank)
    with pytest.raises(ValueError, match=r"as many modes, 1 at least, got \(\) and \(\)"):
        TTLinear((), (), ranks=2)
    with pytest.raises(ValueError, match=r"inputs must be \[..., 6\], got \[5, 7\]"):
        TTLinear((2, 3), (3, 2), ranks=2)(torch.ones(5, 7))
    with pytest.raises(ValueError, match=r"modes and ranks must be at least 1, got .* and \[0\]"):
        TTLinear((2, 3), (3, 2), ranks=0)
