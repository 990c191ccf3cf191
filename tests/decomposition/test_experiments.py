"""A compressed layer in a trained network: what is trained on, and what stays."""

import torch

from course_lib.decomposition import TTLinear
from course_lib.decomposition.experiments import (
    INPUT_MODES,
    OUTPUT_MODES,
    replace_and_tune,
    svd_linear,
    weight_of,
    wide_digits_model,
)


def test_a_layer_in_thin_form_of_full_rank_is_the_layer():
    linear = torch.nn.Linear(7, 5)
    torch.testing.assert_close(weight_of(svd_linear(linear, rank=5), 7), linear.weight.detach())
    layer = TTLinear((2, 3), (3, 5), ranks=2)
    torch.testing.assert_close(weight_of(layer, 6), layer.matrix.full().detach())


def test_the_model_and_the_layer_that_were_given_stay_and_the_copy_learns():
    model = wide_digits_model(steps=60)
    layer = TTLinear.from_linear(model[2], INPUT_MODES, OUTPUT_MODES, largest_rank=2)
    before = [p.detach().clone() for p in [*model.parameters(), *layer.parameters()]]
    row = replace_and_tune(model, layer, steps=30)
    after = [*model.parameters(), *layer.parameters()]
    assert all(torch.equal(a, b) for a, b in zip(before, after, strict=True))
    assert row.numbers == 40 + 192 + 128 - 240 + 240
    assert 0.9 < row.relative_error < 1
    assert row.tuned > row.converted + 0.2
