"""Rounding by chance: to one of two neighbors, and right on average, counted over all draws."""

import math

import pytest
import torch

from course_lib.precision import BF16, E4M3, E5M2, FP16, round_stochastic


def test_seventeen_eighths_between_two_and_two_and_a_half():
    # e5m2 has 2 and 2.5 here: 2.125 is a quarter of the way, so a quarter of the draws goes up.
    draws = torch.tensor([0, 0.25, 0.5, 0.75])
    assert round_stochastic(torch.full((4,), 2.125), E5M2, draws).tolist() == [2, 2, 2, 2.5]
    assert round_stochastic(torch.full((4,), -2.125), E5M2, draws).tolist() == [-2, -2, -2, -2.5]


@pytest.mark.parametrize("number_format", [FP16, BF16, E4M3, E5M2], ids=lambda f: f.name)
def test_over_all_draws_the_mean_is_the_value(number_format):
    draws = torch.arange(256) / 256
    # Numbers with eight bits more than the format has: every share of the way to the next is a multiple of 1/256.
    codes = torch.linspace(0, number_format.largest_code - 1, 50).long()
    values = number_format.decode(codes)
    values = values + number_format.spacing(values) * torch.arange(50) * 5 / 256
    for value in torch.cat([values, -values]):
        rounded = round_stochastic(value.expand(256), number_format, draws)
        assert rounded.mean() == value
        assert len(rounded.unique()) <= 2


@pytest.mark.parametrize("number_format", [FP16, BF16, E4M3, E5M2], ids=lambda f: f.name)
def test_a_number_of_the_format_stays(number_format):
    values = number_format.decode(torch.arange(number_format.largest_code + 1))
    assert torch.equal(round_stochastic(values, number_format, torch.full(values.shape, 255 / 256)), values)


def test_what_lies_beyond_the_largest_number_may_become_infinite():
    values = torch.tensor([65519.0, 65519.0, math.inf])
    assert round_stochastic(values, FP16, torch.tensor([0.0, 0.9, 0.5])).tolist() == [65504, math.inf, math.inf]
