"""A compressed layer in a trained network: what is trained on, and what stays."""

from copy import deepcopy

import pytest
import torch

from course_lib.decomposition import FourBitLinear, LoRALinear, TTLinear
from course_lib.decomposition.experiments import (
    INPUT_MODES,
    OUTPUT_MODES,
    replace_and_tune,
    svd_linear,
    weight_of,
    wide_digits_model,
)
from course_lib.tasks import accuracy, digit_batches, load_digits


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


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(5))
def test_two_columns_learn_beside_4_bits_as_beside_the_weight_and_less_beside_noise(seed):
    trained = wide_digits_model(seed=seed)
    four_bits, noise = FourBitLinear(trained[2]), FourBitLinear(trained[2])
    noise.codes.random_(generator=torch.Generator().manual_seed(seed))
    reached = [learned(trained, base, rank=2, rate=0.05, seed=seed) for base in (trained[2], four_bits, noise)]
    assert abs(reached[0] - reached[1]) < 0.05 < reached[1] - reached[2]
    assert learned(trained, noise, rank=8, rate=0.02, seed=seed) > reached[0] - 0.04  # wide enough beside anything


def learned(trained, base, rank, rate, seed):
    """Accuracy on digits shifted by a pixel, LoRA alone having learned them."""
    torch.manual_seed(seed)
    model, digits = deepcopy(trained).requires_grad_(False), load_digits()
    model[2] = LoRALinear(deepcopy(base), rank)
    optimizer = torch.optim.Adam(model[2].parameters(), lr=rate)
    for _, (inputs, labels) in zip(range(120), digit_batches(128, seed=seed), strict=False):
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(model(shifted(inputs)), labels).backward()
        optimizer.step()
    return accuracy(model, shifted(digits.test_inputs), digits.test_labels)


def shifted(images):
    return images.view(-1, 8, 8).roll(1, 2).flatten(1)
