"""The step explorer: what one data-parallel step spends its time on, and how far it scales."""

from __future__ import annotations

import functools
from dataclasses import dataclass, replace

from course_lib.comm import Network
from course_lib.data_parallel import StepTimeline, equal_layers, step_timeline
from course_lib.draw.chapters.data_parallel import step_panel
from course_lib.draw.colors import FILLS
from course_lib.draw.panels import Line, Lines, Table, Timeline, axis
from course_lib.draw.units import format_bytes, format_count, format_seconds, format_share, one_two_five
from course_lib.widgets.controls import bytes_slider, menu, scale, seconds_slider
from course_lib.widgets.settings import EVERY, SettingExplorer, control

RANKS = tuple(2**k for k in range(11))
BUCKETS = tuple(int(size) for size in one_two_five(10_000, 5 * 10**9))

IMAGES = 90 * 1_281_167  # 90 epochs of ImageNet
BATCH = 256  # images of a server in one step


_SIZES = [millions * 10**6 for millions in (1, 5, 25, 100, 138, 340, 1000, 7000)]
_LINKS = [gigabits * 125e6 for gigabits in (0.1, 1, 10, 25, 50, 100, 200, 400)]
_OVERLAP = {"during the backward pass": True, "after the backward pass": False}


def _millions(count: int) -> str:
    return f"{count / 1e6:g} million"


def _gigabits(bytes_per_s: float) -> str:
    return f"{bytes_per_s / 125e6:g} Gbit/s"


@dataclass(frozen=True)
class StepSetting:
    """All that the controls say: a ring of `world_size` servers, and a network of `tensors` equal tensors."""

    world_size: int = control(32, scale, "servers", RANKS, book=[1, 8, 32, 128, 1024])
    parameters: int = control(25_000_000, scale, "parameters", _SIZES, show=_millions, beyond=True)
    tensors: int = control(160, scale, "tensors", [1, 2, 4, 8, 16, 32, 64, 160, 320], beyond=True)
    forward_s: float = control(
        0.107, seconds_slider, "forward pass", low=1e-3, high=1.0, about="all of a step before its backward pass"
    )
    backward_s: float = control(0.125, seconds_slider, "backward pass", low=1e-3, high=1.0)
    latency_s: float = control(1e-5, seconds_slider, "latency")
    bytes_per_s: float = control(
        6.25e9, scale, "network", _LINKS, show=_gigabits, beyond=True, book=[1.25e9, 3.125e9, 6.25e9, 1.25e10]
    )
    bucket_bytes: int = control(
        5_000_000,
        bytes_slider,
        "bucket",
        low=BUCKETS[0],
        high=BUCKETS[-1],
        book=[500_000, 2_000_000, 5_000_000, 20_000_000, 100_000_000],
    )
    overlap: bool = control(True, menu, "all-reduces", _OVERLAP, book=EVERY)

    @property
    def steps(self) -> int:
        """Of 90 epochs of ImageNet, with BATCH images for each server."""
        return IMAGES // (BATCH * self.world_size)


def timeline_of(setting: StepSetting) -> StepTimeline:
    """The step's timeline, its gradients averaged by rings of float32."""
    layers = equal_layers(
        setting.tensors,
        parameter_bytes=4 * setting.parameters,
        forward_s=setting.forward_s,
        backward_s=setting.backward_s,
    )
    return step_timeline(
        layers,
        network=Network(setting.latency_s, setting.bytes_per_s),
        world_size=setting.world_size,
        bucket_bytes=setting.bucket_bytes,
        overlap=setting.overlap,
    )


@functools.lru_cache(maxsize=64)
def scaling_curve(setting: StepSetting) -> list[float]:
    """Images per second with each of RANKS, over those of one rank; the setting's own world_size does not matter."""
    one_s = timeline_of(replace(setting, world_size=1)).compute_s
    return [ranks * one_s / timeline_of(replace(setting, world_size=ranks)).seconds for ranks in RANKS]


@functools.lru_cache(maxsize=64)
def bucket_curve(setting: StepSetting) -> list[float]:
    """Seconds of the step with each of BUCKETS; the setting's own bucket_bytes does not matter."""
    return [timeline_of(replace(setting, bucket_bytes=size)).seconds for size in BUCKETS]


# The pictures of the step explorer: one step's timeline, speed-up by servers, and time by bucket size.


def describe_step(step: StepTimeline) -> str:
    """One step in words: how much of the communication the backward pass hides."""
    wire_s = sum(stretch.end_s - stretch.start_s for stretch in step.all_reduces)
    exposed_s = step.seconds - step.compute_s
    text = f"A step takes {format_seconds(step.seconds)}: {format_seconds(step.compute_s)} of computing"
    if not wire_s:
        return f"{text}, and one server has nobody to talk to."
    hidden, buckets = 1 - min(exposed_s / wire_s, 1.0), format_count(len(step.all_reduces), "bucket")
    take = "takes" if len(step.all_reduces) == 1 else "take"
    return (
        f"{text} and {format_seconds(exposed_s)} of waiting. {buckets} {take} {format_seconds(wire_s)} on the wire; "
        f"{hidden:.0%} of that hides behind the backward pass."
    )


def _facts(setting: StepSetting, step: StepTimeline) -> Table:
    wire_s = sum(stretch.end_s - stretch.start_s for stretch in step.all_reduces)
    batch = BATCH * setting.world_size
    facts = {
        "one step": format_seconds(step.seconds),
        "computing": format_seconds(step.compute_s),
        "on the wire": format_seconds(wire_s),
        "waited for": format_seconds(step.seconds - step.compute_s),
        "efficiency": format_share(step.compute_s / step.seconds),
        "buckets": f"{len(step.buckets):,}",
        "batch of all": f"{batch:,}",
        "90 epochs of ImageNet": _minutes(setting.steps * step.seconds / 60),
    }
    return Table(facts, "computed")


def _minutes(minutes: float) -> str:
    return f"{minutes:,.1f} min" if minutes >= 1 else f"{minutes:.2g} min"


def _scaling(setting: StepSetting, here: tuple[int, float]) -> Lines:
    """Speed-up over one server by the number of servers, both logarithmic, and the ideal."""
    either = replace(setting, world_size=1)
    names = {"overlapped": True, "after the backward pass": False}
    curves = {name: scaling_curve(replace(either, overlap=overlap)) for name, overlap in names.items()}
    ends = ", ".join(f"{name} {speed_ups[-1]:.3g}×" for name, speed_ups in curves.items())
    return Lines(
        title="Speed-up by servers; circle: your setting",
        origin="computed",
        label=f"Speed-up over one server: {here[1]:.3g}× with {format_count(here[0], 'server')}. "
        f"With {RANKS[-1]:,} servers: {ends}.",
        lines={name: Line(RANKS, speed_ups) for name, speed_ups in curves.items()}
        | {"ideal": Line(RANKS, RANKS, "faint", (2, 4))},
        x=axis("servers", RANKS, log=True, at=RANKS[::2]),
        y=axis("speed-up", RANKS, "×", log=True, low=0.5, at=RANKS[::2]),
        here=here,
    )


def _buckets(setting: StepSetting, step: StepTimeline) -> Lines:
    """A step's time by bucket size, and the computing alone."""
    seconds = bucket_curve(replace(setting, bucket_bytes=0))
    best = min(range(len(BUCKETS)), key=lambda i: (seconds[i], -i))
    here = setting.bucket_bytes, step.seconds
    low = f"{format_seconds(seconds[best])} at {format_bytes(BUCKETS[best])}"
    return Lines(
        title="A step's time by bucket size",
        origin="computed",
        label=f"Time of a step by bucket size: best {low}; here {format_seconds(here[1])} at {format_bytes(here[0])}.",
        lines={
            "one step": Line(BUCKETS, seconds, FILLS["passes"]["all-reduce"].color),
            "its computing alone": Line((BUCKETS[0], BUCKETS[-1]), [step.compute_s] * 2, "faint", (2, 4)),
        },
        x=axis("bucket size", BUCKETS, "B", log=True),
        y=axis("time", [*seconds, here[1]], "s"),
        here=here,
        notes={(BUCKETS[best], seconds[best]): "best"},
    )


class StepExplorer(SettingExplorer):
    """One data-parallel step to take apart: its timeline, its speed-up by servers, and its best bucket size.

    Everything is computed by `step_timeline`: equal tensors, equal servers, rings, float32 gradients. At first it is
    the step of chapter 01: ResNet-50 on 32 servers, in twenty buckets.
    """

    Setting = StepSetting

    @staticmethod
    def pictures(setting: StepSetting) -> list[str | Table | Timeline | Lines]:
        """All that is shown of a setting."""
        step = timeline_of(setting)
        speed_up = setting.world_size * step.compute_s / step.seconds
        return [
            describe_step(step),
            _facts(setting, step),
            step_panel(step, title="One step", origin="computed", label=describe_step(step)),
            _scaling(setting, (setting.world_size, speed_up)),
            _buckets(setting, step),
        ]
