"""Ticks: few, round, between the two ends and told apart, whatever the ends are."""

import itertools
import math

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from course_lib.draw.units import log_ticks, round_ticks
from course_lib.widgets import axis

NUMBERS = st.floats(-1e300, 1e300)
ABOVE_0 = st.floats(1e-290, 1e300)
ONE_ULP = [(799.9999999999999, 800.0), (102399.99999999999, 102400.0), (1.0, 1.0000000000000002)]


def are_few_and_apart(ticks, low, high):
    close = 1e-8 * max(abs(low), abs(high))
    assert 1 <= len(ticks) <= 12
    assert all(low - close <= tick <= high + close for tick in ticks)
    assert len({f"{tick:g}" for tick in ticks}) == len(ticks)


@given(NUMBERS, NUMBERS, st.integers(1, 10))
@example(799.9999999999999, 800.0, 8)
@example(0.0, 5e-324, 5)
@example(-1e300, 1e300, 1)
def test_round_ticks_are_few_between_the_ends_and_told_apart(one, other, most):
    low, high = sorted((one, other))
    are_few_and_apart(round_ticks(high, most, low), low, high)


@given(ABOVE_0, ABOVE_0, st.integers(1, 10))
def test_ticks_of_a_logarithmic_axis_are_few_between_the_ends_and_told_apart(one, other, most):
    low, high = sorted((one, other))
    are_few_and_apart(log_ticks(low, high, most), low, high)


@given(st.floats(1e-9, 1e9), st.floats(1.01, 1e9))
@example(2.134211778640747, 3.1018666)  # a loss from 2.13 to 6.62: 6 and 6.5 lay on each other
@example(2.019284963607788, 3.2119626)
def test_words_of_a_logarithmic_axis_have_room(low, times):
    ticks = log_ticks(low, low * times)
    assert len(ticks) >= 2 or times < 1.02
    assert all(math.log(above / below) >= 0.075 * math.log(times) for below, above in itertools.pairwise(ticks))


@given(ABOVE_0, st.floats(0, 1e-3))
def test_ticks_are_few_however_close_the_ends_are(low, apart):
    high = low * (1 + apart)
    are_few_and_apart(log_ticks(low, high), low, high)
    are_few_and_apart(round_ticks(high, 8, low), low, high)


@pytest.mark.parametrize(("low", "high"), ONE_ULP)
def test_an_axis_of_values_that_do_not_differ_shows_them_at_its_low_end(low, high):
    for log in (False, True):
        there = axis("time", [low, high], low=low, log=log)
        assert there.share(high) == pytest.approx(0, abs=1e-9)
        assert there.high == pytest.approx(2 * low)
        are_few_and_apart(list(there.ticks), there.low, there.high)
