"""Eight bits: the scale of a tensor, and a layer that learns with them."""

import pytest
import torch
from torch import nn

from course_lib.precision import E4M3, E5M2, Fp8Linear, in_fp8
from course_lib.tasks import digit_batches, digits_model

FORMATS = {torch.float8_e4m3fn: E4M3, torch.float8_e5m2: E5M2}


@pytest.mark.parametrize("dtype", FORMATS)
@pytest.mark.parametrize("size", [1e-30, 1e-6, 1.0, 1e6, 1e30])
def test_a_scaled_tensor_of_any_size_keeps_its_bits(dtype, size):
    values = size * torch.randn(500, generator=torch.Generator().manual_seed(0))
    small = in_fp8(values, dtype)
    largest = FORMATS[dtype].largest
    assert largest / 2 < (values.abs().max() * small.scale).item() <= largest
    error = (small.widened() - values).abs()
    spacing = FORMATS[dtype].spacing(values * small.scale) / small.scale
    assert (error <= spacing / 2).all()


def test_without_a_scale_small_numbers_are_lost():
    values = torch.tensor([1e-6, -3e-6])
    assert not values.to(torch.float8_e4m3fn).float().any()
    assert in_fp8(values).widened().all()


def test_zeros_stay_zeros():
    assert not in_fp8(torch.zeros(3)).widened().any()


def test_with_numbers_that_8_bits_have_the_layer_is_torchs():
    draw = torch.Generator().manual_seed(0)
    ours, theirs = Fp8Linear(6, 4), nn.Linear(6, 4)
    weight = torch.randint(-3, 4, (4, 6), generator=draw).float()
    inputs = [torch.randint(-3, 4, (2, 5, 6), generator=draw).float().requires_grad_() for _ in range(1)] * 2
    results = []
    for layer, x in zip((ours, theirs), inputs, strict=True):
        layer.weight.data, layer.bias.data, x.grad = weight.clone(), torch.ones(4), None
        y = layer(x)
        (y * torch.tensor([1.0, 2.0, 3.0, -2.0])).sum().backward()
        results.append((y, x.grad, layer.weight.grad, layer.bias.grad))
    assert all(torch.equal(a, b) for a, b in zip(*results, strict=True))


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("batch", [(), (0,), (1,), (2, 0), (2, 5)])
def test_any_batch_goes_through_with_a_bias_and_without(batch, bias):
    ours, theirs = Fp8Linear(3, 2, bias=bias), nn.Linear(3, 2, bias=bias)
    theirs.load_state_dict(ours.state_dict())
    results = []
    for layer in (ours, theirs):
        x = torch.ones(*batch, 3, requires_grad=True)
        layer(x).sum().backward()
        results.append((layer(x).detach(), x.grad, layer.weight.grad))
    for a, b in zip(*results, strict=True):
        torch.testing.assert_close(a, b, rtol=0.1, atol=0.1)  # e4m3 rounds by a sixteenth


def test_digits_are_learned_with_8_bits():
    losses = []
    for layer in (nn.Linear, Fp8Linear):
        model = digits_model()
        for place in (0, 2):
            old = model[place]
            model[place] = layer(old.in_features, old.out_features)
            model[place].load_state_dict(old.state_dict())
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for (x, y), _ in zip(digit_batches(64), range(150), strict=False):
            loss = nn.functional.cross_entropy(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        losses.append(loss.item())
    assert abs(losses[1] - losses[0]) < 0.05
    assert losses[0] < 1.5
