"""What a format does to numbers, counted."""

import pytest
import torch
from torch import nn

from course_lib.precision import BF16, E4M3, FORMATS, FP16, Fates, activation_gradients, exponent_counts, fates


def test_five_numbers_by_hand():
    # 2^-25 is halfway to the smallest number and becomes the even 0; a little more becomes 2^-24.
    values = torch.tensor([0.0, 2.0**-25, 1.01 * 2.0**-25, 2.0**-14, -65520.0])
    assert fates(values, FP16) == Fates(zero=0.2, lost=0.2, subnormal=0.2, normal=0.2, overflow=0.2)
    assert fates(values, BF16) == Fates(zero=0.2, lost=0, subnormal=0, normal=0.8, overflow=0)
    assert fates(values, E4M3, scale=2.0**10).lost == 0.4


def test_what_is_no_number_is_lost_and_has_no_exponent():
    values = torch.tensor([1.0, torch.nan, torch.inf, -torch.inf])
    assert fates(values, BF16) == Fates(zero=0, lost=0, subnormal=0, normal=0.25, overflow=0.75)
    assert exponent_counts(values) == {0: 1}
    with pytest.raises(ValueError, match="got an empty tensor"):
        fates(torch.tensor([]), FP16)


@pytest.mark.parametrize("number_format", FORMATS, ids=lambda f: f.name)
@pytest.mark.parametrize("scale", [2.0**-20, 1.0, 2.0**12])
def test_shares_add_up_to_one(number_format, scale):
    values = torch.randn(1000, generator=torch.Generator().manual_seed(0)) ** 21
    shares = fates(values, number_format, scale)
    assert sum(shares) == pytest.approx(1, abs=1e-12)
    assert min(shares) >= 0


@pytest.mark.parametrize("scale", [1.0, 2.0**8])
def test_fp16_flushes_what_torch_turns_to_zero(scale):
    values = torch.randn(10_000, generator=torch.Generator().manual_seed(0)) ** 15
    theirs = (values * scale).half()
    shares = fates(values, FP16, scale)
    assert shares.lost == ((theirs == 0) & (values != 0)).double().mean()
    assert shares.overflow == theirs.isinf().double().mean()


def test_a_scale_of_two_to_the_k_moves_the_histogram_by_k():
    values = torch.randn(1000, generator=torch.Generator().manual_seed(0))
    moved = exponent_counts(values * 2**7)
    assert moved == {exponent + 7: count for exponent, count in exponent_counts(values).items()}
    assert sum(moved.values()) == 1000


def test_activation_gradients_are_those_of_every_layer():
    model = nn.Sequential(nn.Linear(3, 2), nn.ReLU(), nn.Sequential(nn.Linear(2, 1)))
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.fill_(1)
    found = activation_gradients(model, lambda: 5 * model(torch.ones(4, 3)).sum())
    # Four examples: one output, two after ReLU, two before it, each with gradient 5; the inner Sequential is no layer.
    assert found.tolist() == [5.0] * 20
    assert all(parameter.grad is None for parameter in model.parameters())
