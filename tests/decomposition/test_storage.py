"""What each format stores: on a function, a photograph and a layer that was trained."""

import pytest
import torch

from course_lib.decomposition import (
    TTLinear,
    function_on_grid,
    hosvd,
    load_photo,
    tensorize,
    train_digits_weight,
    truncated_svd,
    tt_numbers,
    tt_svd,
    tucker_numbers,
)


def test_the_core_of_tucker_grows_exponentially_and_a_train_by_equal_steps():
    train = [tt_numbers([10] * d, [1, *[2] * (d - 1), 1]) for d in (20, 21, 22)]
    tucker = [tucker_numbers([10] * d, [2] * d) for d in (20, 21, 22)]
    assert train[2] - train[1] == train[1] - train[0] == 40  # one more core of 2 · 10 · 2
    assert tucker[2] - tucker[1] == 2 * (tucker[1] - tucker[0]) - 20  # twice the core, and 20 for a factor


def test_a_photograph_in_many_modes_is_larger_in_tucker_than_whole():
    photo = tensorize(load_photo(256), [2] * 8, [2] * 8)
    assert tt_svd(photo, 0.05).numbers < photo.numel() < hosvd(photo, 0.05).numbers


def test_at_a_tenth_of_error_every_format_of_a_trained_layer_is_larger_than_the_layer():
    layer = train_digits_weight()
    tensor = tensorize(layer, [4] * 3, [4] * 3)
    thin = truncated_svd(layer, error=0.1 * layer.norm().item()).numbers
    assert min(thin, hosvd(tensor, 0.1).numbers, tt_svd(tensor, 0.1).numbers) > 4096


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
    with pytest.raises(ValueError, match=r"multiply to \(6, 4\)"):
        tensorize(torch.ones(6, 4), [2, 2], [2, 2])
    with pytest.raises(ValueError, match="divide 256"):
        load_photo(100)
    with pytest.raises(ValueError, match=r"as many modes, 1 at least, got \(\) and \(\)"):
        TTLinear((), (), ranks=2)
    with pytest.raises(ValueError, match=r"inputs must be \[..., 6\], got \[5, 7\]"):
        TTLinear((2, 3), (3, 2), ranks=2)(torch.ones(5, 7))
    with pytest.raises(ValueError, match=r"modes and ranks must be at least 1, got .* and \[0\]"):
        TTLinear((2, 3), (3, 2), ranks=0)
