"""Named links of real hardware."""

import pytest

from course_lib.comm import Link, presets


@pytest.mark.parametrize("name", presets.PRESETS)
def test_every_link_says_where_both_of_its_figures_come_from(name):
    source = presets.PRESETS[name].source
    assert "bandwidth: " in source
    assert "latency: " in source


def test_every_named_link_is_in_the_table():
    named = [link for link in vars(presets).values() if isinstance(link, Link)]
    assert sorted(named, key=str) == sorted(presets.PRESETS.values(), key=str)


@pytest.mark.parametrize(
    ("name", "gigabytes_per_s"),
    [
        ("NVLink, A100", 240.0),  # published: NCCL's bound on the ring's bus bandwidth of 8 A100
        ("PCIe 4.0 x16", 31.508),  # 16 GT/s x 16 lanes, 128 of 130 bits are data
        ("PCIe 5.0 x16", 63.015),
        ("InfiniBand HDR", 25.0),
        ("InfiniBand NDR", 50.0),
        ("10 Gbit Ethernet", 1.25),
        ("25 Gbit Ethernet", 3.125),
        ("100 Gbit Ethernet", 12.5),
    ],
)
def test_rates_are_those_of_the_specifications(name, gigabytes_per_s):
    assert presets.PRESETS[name].bytes_per_s / 1e9 == pytest.approx(gigabytes_per_s, rel=1e-4)


def test_measured_bus_bandwidth_of_eight_a100_is_just_below_the_preset():
    # Published: nccl-tests on 8 A100 reached 234.9 GB/s.
    assert 0.97 < 234.9e9 / presets.NVLINK_A100.bytes_per_s < 1.0
