"""The step explorer: what it shows is what the model of a step computes."""

import base64
import re
from dataclasses import replace

import pytest

from course_lib.collectives import ring_all_reduce_seconds
from course_lib.comm import Network
from course_lib.data_parallel import equal_layers, step_timeline
from course_lib.draw import alt_text, format_seconds
from course_lib.draw.chapters.data_parallel import draw_steps
from course_lib.widgets import StepExplorer
from course_lib.widgets.step import BUCKETS, RANKS, StepSetting, bucket_curve, scaling_curve, timeline_of

from .parts import facts_of, shown


@pytest.fixture
def explorer():
    return StepExplorer()


def setting_of(explorer):
    return StepSetting(**explorer.values)


def test_its_timeline_is_that_of_step_timeline(explorer):
    explorer.set(world_size=4, parameters=5_000_000, tensors=8, forward_s=0.01, backward_s=0.02, bucket_bytes=2_000_000)
    layers = equal_layers(8, parameter_bytes=20_000_000, forward_s=0.01, backward_s=0.02)
    expected = step_timeline(layers, network=Network(1e-5, 6.25e9), world_size=4, bucket_bytes=2_000_000)
    assert timeline_of(setting_of(explorer)) == expected


def test_it_begins_with_the_step_of_the_page(explorer):
    assert fact(explorer, "90 epochs of ImageNet") == "54.9 min"
    assert (fact(explorer, "buckets"), fact(explorer, "batch of all")) == ("20", "8,192")


def fact(explorer, name):
    return facts_of(explorer)[name]


@pytest.mark.parametrize("overlap", [True, False])
@pytest.mark.parametrize("world_size", [2, 8, 64])
def test_its_numbers_are_those_of_rings_and_of_passes(world_size, overlap):
    explorer = StepExplorer(
        world_size=world_size, overlap=overlap, parameters=25_000_000, tensors=25, bucket_bytes=5_000_000
    )
    network, compute_s = Network(1e-5, 6.25e9), 0.107 + 0.125
    buckets_s = 12 * ring_all_reduce_seconds(8_000_000, world_size, network)  # of two layers, 4 MB each
    wire_s = buckets_s + ring_all_reduce_seconds(4_000_000, world_size, network)  # and the last layer alone
    assert fact(explorer, "computing") == format_seconds(compute_s)
    assert fact(explorer, "on the wire") == format_seconds(wire_s)
    if not overlap:
        assert fact(explorer, "one step") == format_seconds(compute_s + wire_s)
        assert fact(explorer, "efficiency") == f"{compute_s / (compute_s + wire_s):.0%}"
        steps = 90 * 1_281_167 // (256 * world_size)
        assert fact(explorer, "90 epochs of ImageNet") == f"{steps * (compute_s + wire_s) / 60:,.1f} min"


def test_all_pictures_agree_about_this_setting(explorer):
    explorer.set(world_size=16, bucket_bytes=10_000_000)
    setting = setting_of(explorer)
    step = timeline_of(setting)
    speed_up = scaling_curve(replace(setting, world_size=1))[RANKS.index(16)]
    assert speed_up == pytest.approx(16 * step.compute_s / step.seconds)
    assert f"{speed_up:.3g}× with 16 servers" in shown(explorer, "Speed-up")
    assert bucket_curve(replace(setting, bucket_bytes=0))[BUCKETS.index(10_000_000)] == step.seconds
    assert f"here {format_seconds(step.seconds)} at 10 MB" in shown(explorer, "A step")
    assert f"A step takes {format_seconds(step.seconds)}" in shown(explorer, "One step")


def test_one_rank_waits_for_nobody(explorer):
    explorer.set(world_size=1)
    assert "nobody to talk to" in explorer.caption
    assert ">100%<" in shown(explorer, "")


def test_overlap_never_makes_a_step_longer():
    explorer = StepExplorer(bytes_per_s=1.25e8)
    for bucket_bytes in (50_000, 5_000_000, 200_000_000):
        explorer.set(bucket_bytes=bucket_bytes, overlap=True)
        overlapped = timeline_of(setting_of(explorer)).seconds
        explorer.set(overlap=False)
        assert overlapped <= timeline_of(setting_of(explorer)).seconds


def test_the_best_bucket_is_neither_the_smallest_nor_the_largest(explorer):
    seconds = bucket_curve(replace(setting_of(explorer), bucket_bytes=0))
    assert min(seconds) < min(seconds[0], seconds[-1])


def test_no_speed_up_exceeds_the_number_of_ranks(explorer):
    for ranks, speed_up in zip(RANKS, scaling_curve(replace(setting_of(explorer), world_size=1)), strict=True):
        assert speed_up <= ranks * (1 + 1e-12)


@pytest.mark.parametrize("panel", ["", "One step", "Speed-up", "A step"])
def test_a_moved_slider_changes_every_picture(explorer, panel):
    before = shown(explorer, panel)
    explorer.controls["world_size"].value = 256
    assert shown(explorer, panel) != before


def test_numbers_and_pictures_name_their_origin(explorer):
    assert all("computed</small>" in view.value for view in explorer.views)


def test_every_picture_says_in_words_what_it_shows(explorer):
    for panel in ("One step", "Speed-up", "A step"):
        (label,) = re.findall(r'role="img" aria-label="([^"]+)"', shown(explorer, panel))
        assert re.search(r"\d", label)


def test_without_a_kernel_the_page_keeps_a_picture_and_the_settings(explorer):
    (bundle, metadata), *_ = explorer.bundles()
    assert base64.b64decode(bundle["image/png"]).startswith(b"\x89PNG")
    assert "servers" not in bundle["text/plain"].splitlines()[0]
    assert "world_size=32" in bundle["text/plain"]
    assert "A step takes" in metadata["image/png"]["alt"]


def test_drawn_steps_say_how_long_each_waits(explorer):
    setting = setting_of(explorer)
    steps = {name: timeline_of(replace(setting, overlap=name == "overlapped")) for name in ("overlapped", "after")}
    text = alt_text(draw_steps(steps))
    assert "overlapped takes" in text
    assert "after takes" in text
    assert text.endswith("(computed)")


def test_a_speed_up_below_the_axis_is_not_drawn_on_it():
    explorer = StepExplorer(bytes_per_s=1.25e7, latency_s=1e-2, world_size=64)
    panel = next(part for part in explorer.parts if getattr(part, "y", None) and part.y.name == "speed-up")
    assert panel.here[1] < panel.y.low
    assert shown(explorer, "Speed-up").count("▼") >= 2  # the line that goes down, and the ring that has no place
    assert "<circle" not in shown(explorer, "Speed-up")


def test_thin_boxes_have_no_edge_that_would_hide_them():
    explorer = StepExplorer(bytes_per_s=1.25e7)  # passes of a thousandth of the step
    paths = re.findall(r'<path d="([^"]+)" style="fill:#(?:3282c8|00823c);stroke:([^;]+)', shown(explorer, "One step"))
    assert {stroke for path, stroke in paths if re.search(r"h[0-7]\.\d", path)} == {"none"}
