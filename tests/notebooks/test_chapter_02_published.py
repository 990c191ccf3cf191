"""The published figures of the chapter on all-reduce, and that the course's models land on them."""

import pytest

from course_lib.published import (
    A100_NVLINK_BYTES_PER_S,
    A100_NVLINKS,
    A100_SWEEP,
    GOYAL_2017,
    bus_bytes_per_s,
    fit_alpha_beta,
    nccl_ring_choice,
    nccl_ring_seconds,
)

SMALL = [t for t in A100_SWEEP if t.message_bytes <= 2**20]
LARGE = [t for t in A100_SWEEP if t.message_bytes >= 2**24]


def test_a_line_through_points_of_a_line_is_that_line():
    fit = fit_alpha_beta([(size, 5e-6 + size / 1e9) for size in (10, 1000, 10**6, 10**8)])
    assert fit.latency_s == pytest.approx(5e-6)
    assert fit.bytes_per_s == pytest.approx(1e9)
    assert fit.worst_error < 1e-9
    assert fit.seconds(1000) == pytest.approx(6e-6)


def test_times_that_do_not_grow_have_an_unlimited_rate():
    assert fit_alpha_beta([(1, 1.0), (100, 1.0)]).bytes_per_s > 1e15


@pytest.mark.parametrize("timings", [[], [(1, 1.0)], [(1, 1.0), (1, 2.0)], [(1, 1.0), (2, 0.0)]])
def test_a_line_needs_two_sizes_and_positive_times(timings):
    with pytest.raises(ValueError, match="two message sizes"):
        fit_alpha_beta(timings)


def test_two_regimes_fit_the_a100_sweep_and_one_line_does_not():
    small, large, all_sizes = fit_alpha_beta(SMALL), fit_alpha_beta(LARGE), fit_alpha_beta(A100_SWEEP)
    assert small.latency_s == pytest.approx(43e-6, rel=0.02)
    assert small.worst_error < 0.07
    assert large.bytes_per_s * 2 * 7 / 8 == pytest.approx(228e9, rel=0.01)
    assert large.worst_error < 0.11
    assert all_sizes.worst_error == pytest.approx(0.36, abs=0.01)


def test_the_largest_message_comes_within_three_percent_of_the_links():
    bound = A100_NVLINKS * A100_NVLINK_BYTES_PER_S
    reached = bus_bytes_per_s(A100_SWEEP[-1], world_size=8)
    assert bound == 240e9
    assert reached == pytest.approx(234.9e9, rel=0.001)
    assert 0.97 * bound < reached < bound


def test_nccls_model_switches_protocol_where_the_published_curve_bends():
    # Published: the time is flat from 1 to 4 MiB, and doubles from 8 to 16 MiB.
    choices = {t.message_bytes: nccl_ring_choice(t.message_bytes) for t in A100_SWEEP}
    assert [choices[2**k] for k in (15, 20, 21, 23, 24, 34)] == ["LL", "LL", "LL128", "LL128", "Simple", "Simple"]


def test_nccls_model_agrees_with_the_published_times_of_large_messages():
    for timing in A100_SWEEP:
        if timing.message_bytes >= 2**29:
            assert nccl_ring_seconds("Simple", timing.message_bytes) == pytest.approx(timing.seconds, rel=0.05)


def test_goyals_network_needs_and_efficiency_are_the_published_ones():
    assert GOYAL_2017.needed_bits_per_s == pytest.approx(12.8e9)
    assert GOYAL_2017.efficiency == pytest.approx(0.89, abs=0.005)


@pytest.mark.parametrize("messages", [1, 161])
def test_the_inferred_latency_gives_back_the_published_speedup(messages):
    latency_s = GOYAL_2017.inferred_latency_s(messages)
    on_the_wire_s = 2 * 31 / 32 * 100e6 / 6.25e9
    ring_s = 62 * latency_s * messages + on_the_wire_s
    halving_doubling_s = 10 * latency_s * messages + on_the_wire_s
    assert ring_s / halving_doubling_s == pytest.approx(3.0)
