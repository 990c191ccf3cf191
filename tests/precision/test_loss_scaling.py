"""The scaler by hand, and against torch's on the same gradients."""

import math
import random

import pytest
import torch
from torch.amp import GradScaler

from course_lib.precision import DynamicScaler, StaticScaler, unscale


def test_a_dynamic_scale_by_hand():
    scaler = DynamicScaler(scale=4.0, growth_interval=3)
    scales = []
    for finite in [True, True, True, True, False, True, True, False, True, True, True]:
        scaler.update(finite)
        scales.append(scaler.scale)
    #                     doubled      halved           halved: two good steps are forgotten
    assert scales == [4, 4, 8, 8, 4, 4, 4, 2, 2, 2, 4]


def test_it_begins_at_65536_and_doubles_after_2000_good_steps():
    scaler = DynamicScaler()
    scales = [scaler.scale]
    for _ in range(2000):
        scaler.update(True)
        scales.append(scaler.scale)
    assert scales == [2.0**16] * 2000 + [2.0**17]


def test_unscaling_divides_in_place_and_sees_what_is_not_finite():
    good, bad = torch.tensor([8.0, -4.0]), torch.tensor([1.0, math.nan])
    assert unscale([good], 4.0)
    assert good.tolist() == [2, -1]
    assert not unscale([good, bad], 2.0)
    assert not unscale([torch.tensor(-math.inf)], 2.0)


def test_a_static_scale_stays():
    scaler = StaticScaler(128.0)
    scaler.update(False)
    assert scaler.scale == 128


@pytest.mark.parametrize("seed", range(5))
def test_it_decides_like_torchs_on_the_same_gradients(seed):
    """Scale, skipped steps and weights, after each of 200 steps of which some overflow."""
    draw = random.Random(seed)
    interval = draw.choice([1, 2, 5, 30])
    start = 2.0 ** draw.randrange(-3, 20)
    ours, theirs = DynamicScaler(start, interval), GradScaler("cpu", init_scale=start, growth_interval=interval)
    weights = [torch.zeros(3, requires_grad=True) for _ in range(2)]
    optimizers = [torch.optim.SGD([w], lr=2.0**-4, momentum=0.5) for w in weights]
    theirs.scale(torch.zeros(()))  # it makes its scale when it first scales
    for _ in range(200):
        gradient = torch.tensor([float(draw.randrange(-8, 9)) for _ in range(3)])
        if draw.random() < 0.1:
            gradient[draw.randrange(3)] = draw.choice([math.inf, -math.inf, math.nan])
        for weight in weights:
            weight.grad = gradient * ours.scale
        finite = unscale([weights[0].grad], ours.scale)
        if finite:
            optimizers[0].step()
        ours.update(finite)
        theirs.step(optimizers[1])
        theirs.update()
        assert ours.scale == theirs.get_scale()
        assert torch.equal(*weights)


def test_like_torchs_the_scale_never_grows_beyond_fp32():
    ours, theirs = DynamicScaler(2.0**126, 1), GradScaler("cpu", init_scale=2.0**126, growth_interval=1)
    weight = torch.zeros(1, requires_grad=True)
    optimizer = torch.optim.SGD([weight], lr=1.0)
    theirs.scale(torch.zeros(()))
    for _ in range(3):
        weight.grad = torch.zeros(1)
        theirs.step(optimizer)
        theirs.update()
        ours.update(True)
        assert ours.scale == theirs.get_scale() == 2.0**127


@pytest.mark.parametrize(
    "make",
    [
        lambda: StaticScaler(0.0),
        lambda: StaticScaler(float("inf")),
        lambda: DynamicScaler(-1.0),
        lambda: DynamicScaler(8.0, 0),
    ],
)
def test_a_scale_of_nothing_or_beyond_fp32_is_refused(make):
    with pytest.raises(
        ValueError, match="a scale must be more than 0, fit into fp32 and grow after 1 step or more, got"
    ):
        make()
