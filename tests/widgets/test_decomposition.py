"""The decomposition explorer: what it shows is what the decompositions of chapter 09 store and leave out."""

from dataclasses import replace

import pytest
import torch

from course_lib.decomposition import (
    function_on_grid,
    hosvd,
    load_photo,
    tensorize,
    train_digits_weight,
    truncated_svd,
    tt_svd,
)
from course_lib.widgets import DecompositionExplorer
from course_lib.widgets.decomposition import (
    CUTS,
    CUTTING,
    FORMATS,
    TENSORS,
    DecompositionSetting,
    describe_decomposition,
    kept_of,
    picture_of,
    tensor_of,
)
from course_lib.widgets.decomposition_cuts import cuts_of, describe_cut

from .parts import facts_of, part

SETTING = DecompositionSetting(tensor="photo", modes=6, relative_error=0.1)


@pytest.mark.parametrize("modes", CUTS)
@pytest.mark.parametrize("name", TENSORS)
def test_its_numbers_are_those_of_the_decompositions_and_its_errors_are_kept(name, modes):
    kept = kept_of(replace(SETTING, tensor=name, modes=modes))
    tensor = tensor_of(name, modes)
    square = picture_of(name, tensor)
    thin = truncated_svd(square, 0.1 * float(square.norm()))
    expected = [thin.numbers, hosvd(tensor, 0.1).numbers, tt_svd(tensor, 0.1).numbers]
    assert [kept[f].numbers for f in FORMATS] == expected
    assert all(each.error <= 0.1 + 1e-12 for each in kept.values())


def test_a_limit_on_the_rank_is_one_on_every_format():
    tensor = tensorize(load_photo(64), [2] * 6, [2] * 6)
    kept = kept_of(replace(SETTING, limit="rank"))
    assert kept["tensor train"].numbers == tt_svd(tensor, largest_rank=4).numbers
    assert kept["Tucker"].numbers == hosvd(tensor, largest_rank=4).numbers
    assert kept["two thin matrices"].ranks == "4"


def test_two_thin_matrices_are_those_of_the_square_however_it_is_cut_into_modes():
    weight = train_digits_weight()
    numbers = truncated_svd(weight, 0.3 * float(weight.norm())).numbers
    for modes in CUTS:
        setting = replace(SETTING, tensor="trained layer", modes=modes, relative_error=0.3)
        assert kept_of(setting)["two thin matrices"].numbers == numbers


def test_it_opens_with_the_trained_layer_in_the_three_modes_of_the_page():
    explorer = DecompositionExplorer()
    assert (explorer.values["tensor"], explorer.values["modes"]) == ("trained layer", 3)
    assert "two thin matrices store least: " in explorer.caption


@pytest.mark.parametrize("modes", CUTS)
def test_pixels_stand_where_they_were(modes):
    assert torch.equal(picture_of("photo", tensor_of("photo", modes)), load_photo(64))


def test_a_function_of_three_modes_is_one_on_a_grid_of_sixteen_points():
    expected = function_on_grid(lambda total: 1 / (1 + total), [16] * 3)
    assert torch.equal(tensor_of("1/(1 + x₁ + … + x_d)", 3), expected)


def test_an_own_matrix_is_decomposed_like_the_others():
    explorer = DecompositionExplorer(own=torch.outer(torch.arange(64.0), torch.ones(64)), modes=2, relative_error=1e-6)
    assert explorer.values["tensor"] == "own"
    assert facts_of(explorer)["tensor train"].startswith("256 numbers, 0.00% off")  # blocks of 8 × 8: rank 2
    with pytest.raises(ValueError, match=r"64 × 64 finite numbers, got shape \(3, 64\)"):
        DecompositionExplorer(own=torch.ones(3, 64))


def test_it_says_when_nothing_is_saved():
    assert "every format takes more" in describe_decomposition(replace(SETTING, tensor="noise", relative_error=0.01))
    assert "tensor train stores least: 1,408" in describe_decomposition(replace(SETTING, modes=2))
    sine = replace(SETTING, tensor="sin(x₁ + … + x_d)", modes=2)
    assert "two thin matrices and tensor train store least: 256" in describe_decomposition(sine)


def test_the_control_of_the_other_limit_rests():
    explorer = DecompositionExplorer()
    assert explorer.controls["rank"].disabled
    assert not explorer.controls["relative_error"].disabled
    explorer.set(limit="rank", rank=1, modes=6)
    assert explorer.controls["relative_error"].disabled
    assert part(explorer, "Numbers stored").bars["tensor train"] == {"numbers": 6 * 4}


@pytest.mark.parametrize("modes", CUTS)
@pytest.mark.parametrize("name", TENSORS)
def test_cut_by_cut_its_cores_and_errors_become_those_of_the_train(name, modes):
    tensor = tensor_of(name, modes)
    for relative_error, rank in ((0.1, None), (0.5, None), (None, 3)):
        train = tt_svd(tensor, relative_error or 0, rank)
        cuts = cuts_of(tensor, relative_error, rank)
        last = [*cuts[-1].cores, (*cuts[-1].rest, 1)]
        assert last == [tuple(core.shape) for core in train.cores]
        assert cuts[-1].numbers == train.numbers
        error = float((tensor - train.full()).norm() / tensor.norm())
        assert cuts[-1].error == pytest.approx(error, abs=1e-7)
        errors = [cut.error for cut in cuts]
        assert errors == pytest.approx(sorted(errors), abs=1e-7)
        if relative_error is not None:
            assert all(cut.error <= cut.bound + 1e-7 for cut in cuts)
            assert cuts[-1].bound == relative_error


def test_by_hand_a_matrix_of_rank_1_is_cut_once():
    own = torch.outer(torch.arange(1.0, 65), torch.ones(64))
    cuts = cuts_of(tensor_of("own", 2, own), 1e-6, None)
    assert [(cut.cores, cut.rest) for cut in cuts] == [([], (1, 4096)), ([(1, 64, 2)], (2, 64))]
    assert describe_cut(cuts, 1).startswith("Step 1 of 1: of a matrix of 64 × 64 it keeps 2 of 64 singular values.")


def test_play_opens_the_cuts_and_another_choice_closes_them():
    explorer = DecompositionExplorer(tensor="photo", modes=6, relative_error=0.1)
    assert explorer.values["shown"] == "tensor train"
    explorer.set(step=2)
    assert explorer.values["shown"] == CUTTING
    assert explorer.caption.startswith("Step 2 of 5: of a matrix of 16 × 256 it keeps 14 of 16 singular values.")
    assert part(explorer, "The train so far").label == explorer.caption
    explorer.set(shown="Tucker")
    assert explorer.values["step"] == 0
    explorer = DecompositionExplorer(tensor="photo", shown=CUTTING, modes=12, relative_error=0.1, step=11)
    assert facts_of(explorer)["left"] == "2 × 2"


@pytest.mark.parametrize("size", [0.0, 1e-200, 1e200])
def test_an_own_matrix_of_any_size_is_cut(size):
    explorer = DecompositionExplorer(own=torch.full((64, 64), size, dtype=torch.float64), shown=CUTTING, step=3)
    assert explorer.problem is None
    assert facts_of(explorer)["error so far"] == "0.00%"
