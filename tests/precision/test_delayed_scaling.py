"""A scale from the last steps: what it cuts off, and how long it remembers."""

import pytest
import torch

from course_lib.precision import E4M3, DelayedScale, Fp8Linear, in_fp8
from course_lib.tasks import digit_batches, digits_model


def largest_kept(scaled, *sizes):
    return [scaled(torch.tensor([size])).widened().item() for size in sizes]


def test_by_hand_an_outlier_is_cut_off_and_then_remembered():
    # Of 1 the scale is 256, so 448 / 256 is the largest that fits; of 1000 it is 1/4, and smaller than 1/128 is 0.
    scaled = DelayedScale(history=2)
    assert largest_kept(scaled, 1.0, 1000.0, 2**-10, 2**-10, 2**-10) == [1.0, 1.75, 0.0, 0.0, 2**-10]


@pytest.mark.parametrize("history", [1, 2, 16])
@pytest.mark.parametrize("dtype", [torch.float8_e4m3fn, torch.float8_e5m2])
def test_it_is_in_fp8_with_the_largest_of_so_many_steps(history, dtype):
    draw = torch.Generator().manual_seed(history)
    tensors = [torch.randn(40, generator=draw) * 10.0**k for k in (0, 3, -2, 1, 0, -5, 2)]
    scaled = DelayedScale(history)
    for step, tensor in enumerate(tensors):
        before = tensors[max(0, step - history) : step] or [tensor]
        expected = in_fp8(tensor, dtype, torch.stack([each.abs().max() for each in before]).max())
        found = scaled(tensor, dtype)
        assert torch.equal(found.values.float(), expected.values.float())
        assert found.scale == expected.scale


def test_in_e5m2_which_has_infinities_an_outlier_becomes_the_largest_number():
    scaled = DelayedScale()
    kept = [scaled(torch.tensor([size]), torch.float8_e5m2).widened().item() for size in (1.0, 1e6)]
    assert kept == [1.0, 57344 / 2**15]


def test_what_grows_no_more_is_kept_as_by_a_scale_of_its_own():
    tensor = torch.randn(100, generator=torch.Generator().manual_seed(0))
    scaled = DelayedScale()
    scaled(2 * tensor)
    assert torch.equal(scaled(2 * tensor).widened(), in_fp8(2 * tensor).widened())


def test_nothing_is_no_number_and_infinities_are_cut_off_and_not_remembered():
    scaled = DelayedScale()
    assert largest_kept(scaled, 1.0, torch.inf, torch.nan)[1] == E4M3.largest / 256
    assert largest_kept(scaled, 1.0) == [1.0]
    assert scaled(torch.zeros(0)).widened().shape == (0,)
    assert largest_kept(DelayedScale(), 0.0, 3.0)[1] > 0
    with pytest.raises(ValueError, match="1 step or more, got 0"):
        DelayedScale(0)


def test_a_layer_learns_with_it():
    losses = []
    for delayed in (False, True):
        model = digits_model()
        layers = [place for place, layer in enumerate(model) if isinstance(layer, torch.nn.Linear)]
        for place in layers:
            layer = Fp8Linear(model[place].in_features, model[place].out_features)
            layer.load_state_dict(model[place].state_dict())
            layer.scaled = [DelayedScale() for _ in range(3)] if delayed else layer.scaled
            model[place] = layer
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for (x, y), _ in zip(digit_batches(64), range(60), strict=False):
            loss = torch.nn.functional.cross_entropy(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        losses.append(loss.item())
    assert abs(losses[0] - losses[1]) < 0.02
