"""The scaling explorer: speed-up and efficiency of a workload on more and more GPUs, and where it ends."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

from course_lib.comm import Network
from course_lib.draw.colors import FILLS
from course_lib.draw.panels import Line, Lines, Sketch, Table, axis
from course_lib.draw.panels.drawing import FAINT, INK, Boxes, Key, Polyline, Shape, frame, left_of
from course_lib.draw.units import format_bytes, format_count, format_seconds, format_share, one_two_five
from course_lib.scaling import (
    NANOGPT_A100_EXAMPLES_PER_S,
    P100_EXAMPLES_PER_S,
    SYSTEMS,
    WORKLOADS,
    Device,
    ScalingPoint,
    Setup,
    System,
    crossover_ranks,
    fit_device,
)
from course_lib.widgets.controls import disable, menu, rate_slider, scale
from course_lib.widgets.settings import EVERY, SettingExplorer, control

OWN = "your own"
RANKS = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024)
PLAIN = "fp32"
GPUS = {"GPT-2": fit_device("A100", WORKLOADS["GPT-2"], NANOGPT_A100_EXAMPLES_PER_S)}
GPUS |= {name: fit_device("P100", WORKLOADS[name], rates) for name, rates in P100_EXAMPLES_PER_S.items()}

_ROOM_S, _CITIES_S = 5e-5, 0.075  # latencies of the page
_LATENCIES_S = sorted({*one_two_five(1e-6, 1e-1), _CITIES_S})
_SPEEDS = [0.25, 0.5, 1, 2, 4, 8, 16]


class Remedy(NamedTuple):
    """What is sent, as a share of fp32; whether each message travels to all; and how often: once in so many steps.
    More than 1: an outer step, of all parameters, which nothing hides."""

    share: float
    to_all: bool = False
    period: int = 1


REMEDIES = {PLAIN: Remedy(1.0), "fp16": Remedy(1 / 2), "1 bit, to all": Remedy(1 / 32, to_all=True)}
REMEDIES |= {"top 1%, to all": Remedy(2 / 100, to_all=True), "1 bit, cut": Remedy(1 / 32)}  # a place and a value: twice
REMEDIES |= {f"outer step every {period}": Remedy(1.0, period=period) for period in (8, 100, 500)}


@dataclass(frozen=True)
class ScalingSetting:
    """All that the controls say. `batch` is the global one if it is fixed, otherwise that of each GPU.

    With a published system everything up to `fixed` is its own. `early`: buckets of 25 MB leave during the backward
    pass; otherwise a single one leaves after it.
    """

    system: str = control(OWN, menu, "system", [OWN, *SYSTEMS], about="yours, or one that somebody published")
    workload: str = control("GPT-2", menu, "model", list(GPUS))
    speed: float = control(
        1.0, scale, "GPU's speed", _SPEEDS, show="{:g} ×".format, about="in A100s (GPT-2) or P100s (the others)"
    )
    bytes_per_s: float = control(1.25e8, rate_slider, "link", low=1e8, high=1e11)
    latency_s: float = control(_ROOM_S, scale, "latency", _LATENCIES_S, show=format_seconds, book=[_ROOM_S, _CITIES_S])
    batch: int = control(480, scale, "batch", [32, 64, 128, 256, 480, 512, 1024, 2048, 4096, 8192])
    fixed: bool = control(True, menu, "the batch is", {"that of all": True, "each GPU's": False})
    ranks: int = control(16, scale, "GPUs", RANKS, book=[1, 2, 4, 16, 64, 256])
    remedy: str = control(PLAIN, menu, "sent", list(REMEDIES), book=EVERY)
    early: bool = control(True, menu, "buckets", {"of 25 MB, early": True, "one, at the end": False}, book=EVERY)


class Scaling:
    """What follows from a setting."""

    def __init__(self, setting: ScalingSetting) -> None:
        self.setting = setting
        system = _own(setting) if setting.system == OWN else SYSTEMS[setting.system]
        self.remedy = REMEDIES[setting.remedy]
        self.setup = system.setup.but(sent_share=self.remedy.share, to_all=self.remedy.to_all)
        if not setting.early or self.remedy.period > 1:
            self.setup = self.setup.but(overlap=False, bucket_bytes=system.setup.workload.gradient_bytes)
        self.system = system._replace(setup=self.setup)

    def points(self, ranks: tuple[int, ...]) -> list[ScalingPoint]:
        """The curve at these numbers of GPUs; of a step on average."""
        return [_on_average(point, self.remedy.period) for point in self.system.points(ranks)]

    def efficiency(self, point: ScalingPoint) -> float:
        """Speed-up per GPU, over that of as many GPUs as the system was compared with."""
        return point.efficiency / self._base_efficiency

    @cached_property
    def _base_efficiency(self) -> float:
        return self.points((self.system.base,))[0].efficiency

    @cached_property
    def here(self) -> ScalingPoint:
        """The step that the controls stand at."""
        return self.points((self.setting.ranks,))[0]

    @cached_property
    def plain(self) -> Scaling | None:
        """The same without the remedy; None where there is none."""
        plain = replace(self.setting, remedy=PLAIN)
        return Scaling(plain) if plain != self.setting else None

    @cached_property
    def crossover(self) -> int | None:
        """From how many GPUs on the all-reduces take longer than the passes, with a fixed batch."""
        device = self.setup.device
        so_many_steps = self.setup.but(device=device._replace(flops_per_s=device.flops_per_s / self.remedy.period))
        return crossover_ranks(so_many_steps, self.system.batch) if self.system.fixed else None


def _on_average(point: ScalingPoint, period: int) -> ScalingPoint:
    """A step of so many, of which one is followed by what is sent."""
    step_s = point.compute_s + point.exposed_s / period
    speedup = point.speedup * point.step_s / step_s
    return point._replace(communication_s=point.communication_s / period, step_s=step_s, speedup=speedup)


def _own(setting: ScalingSetting) -> System:
    workload, gpu = WORKLOADS[setting.workload], GPUS[setting.workload]
    name = gpu.name if setting.speed == 1 else f"{setting.speed:g} × {gpu.name}"
    device = Device(name, gpu.flops_per_s * setting.speed, gpu.half_batch)
    network = Network(latency_s=setting.latency_s, bytes_per_s=setting.bytes_per_s)
    return System(Setup(workload, device, network), setting.batch, setting.fixed, {})


# What a step is made of on more and more GPUs: a column for each number of them, with a remedy and without it.

COLORS = {
    "computing": FILLS["passes"]["backward"].color,
    "all-reduce under it": FILLS["passes"]["all-reduce"].color,
    "waiting": FILLS["passes"]["all-reduce, waited for"].color,
}
DASHES = {True: (INK, (6.0, 3.0)), False: (FAINT, (2.0, 3.0))}  # of a crossing: of this setting, and without its remedy
_TOP, _BOTTOM = 10.0, 170.0
_WIDE = 1 / len(RANKS)
_TICKS = (0.0, 0.25, 0.5, 0.75, 1.0)


def parts_of(point: ScalingPoint) -> dict[str, float]:
    """The seconds of a step: computing by itself, with an all-reduce under it, and waiting for one."""
    waiting_s = max(point.exposed_s, 0.0)
    under_s = min(max(point.communication_s - waiting_s, 0.0), point.compute_s)
    return dict(zip(COLORS, (point.compute_s - under_s, under_s, waiting_s), strict=True))


def crossings(scaling: Scaling) -> dict[str, tuple[int, bool]]:
    """Where all-reduces overtake the passes, in words: at so many GPUs, and whether it is this setting's."""
    plain = scaling.plain
    here, there = scaling.crossover, plain.crossover if plain else None
    found = {f"all-reduce overtakes at {here}": (here, True)} if here else {}
    return found | ({f"in {PLAIN} at {there}": (there, False)} if there else {})


def columns_panel(scaling: Scaling) -> Sketch:
    """Shares of a step; where a remedy is at work, the step without it stands faint at its left."""
    plain = scaling.plain
    points = scaling.points(RANKS)
    shapes = _columns(points, 0.36 if plain else 0.08, 0.56 if plain else 0.84, 1.0)
    keys = [Key(name, color) for name, color in COLORS.items()]
    if plain:
        shapes += _columns(plain.points(RANKS), 0.06, 0.26, 0.45)
    for name, (ranks, mine) in crossings(scaling).items():
        color, dash = DASHES[mine]
        column = math.ceil(math.log2(ranks))
        if column < len(RANKS):
            shapes.append(Polyline([(column * _WIDE, _TOP - 6), (column * _WIDE, _BOTTOM)], color, dash))
            keys.append(Key(name, color, dash))
    here = RANKS.index(scaling.setting.ranks) if scaling.setting.ranks in RANKS else None
    if here is not None:
        shapes.append(Boxes([((here + 0.02) * _WIDE, _TOP - 3, 0.96 * _WIDE, _BOTTOM - _TOP + 3)], "none", INK, 2.0))
    x_ticks = {(column + 0.5) * _WIDE: f"{ranks:,}" for column, ranks in enumerate(RANKS)}
    y_ticks = {_BOTTOM - share * (_BOTTOM - _TOP): f"{share:.0%}" for share in _TICKS}
    left = left_of(y_ticks.values())
    return Sketch(
        title="What a step is made of" + (f"; faint: in {PLAIN}" if plain else ""),
        origin="computed",
        label=_label(scaling),
        wide=True,
        shapes=[*frame(_BOTTOM, left, x_ticks, "GPUs", y_ticks, ""), *shapes],
        height_px=_BOTTOM + 36,
        left_px=left,
        keys=keys,
    )


def _label(scaling: Scaling) -> str:
    parts = "; ".join(f"{name}: {format_seconds(seconds)}" for name, seconds in parts_of(scaling.here).items())
    return ". ".join([f"on {format_count(scaling.setting.ranks, 'GPU')}: {parts}", *crossings(scaling)])


def _columns(points: Iterable[ScalingPoint], left: float, wide: float, opacity: float) -> list[Shape]:
    """A column for each number of GPUs, `left` and `wide` in shares of its room."""
    steps = [parts_of(point) for point in points]
    high = _BOTTOM - _TOP
    shapes: list[Shape] = []
    for name, color in COLORS.items():
        where = []
        for column, parts in enumerate(steps):
            seconds = list(parts.values())
            place, whole_s = list(COLORS).index(name), sum(seconds)
            end, share = sum(seconds[: place + 1]) / whole_s, parts[name] / whole_s
            if share > 0:
                where.append(((column + left) * _WIDE, _BOTTOM - end * high, wide * _WIDE, share * high))
        shapes.append(Boxes(where, color, opacity=opacity))
    return shapes


# The pictures of the scaling explorer: a step's parts by GPUs, where they cross, and efficiency.


def describe_scaling(scaling: Scaling) -> str:
    """The setting in words."""
    setting = scaling.setting
    system = scaling.system
    here = scaling.here
    batch = f"a batch of {system.batch:,} in all" if system.fixed else f"{system.batch:,} examples on each"
    name = setting.workload if setting.system == OWN else setting.system
    return (
        f"{name} on {format_count(setting.ranks, 'GPU')}, {batch}: {_times(here.speedup)} times as many examples per "
        f"second as one, "
        f"efficiency {format_share(here.efficiency)}; {here.communication_share:.0%} of a step waits for messages."
    )


def _times(speedup: float) -> str:
    return f"{speedup:.1f}" if speedup >= 0.95 else f"{speedup:.2g}"


def _facts(scaling: Scaling) -> Table:
    system, crossover = scaling.system, scaling.crossover
    ranks, setup = scaling.setting.ranks, scaling.setup
    sent = 2 * (ranks - 1) / ranks * setup.wire_share(ranks) * setup.workload.gradient_bytes
    none = "beyond 4,096 GPUs" if system.fixed else "none: the batch grows with the GPUs"
    beside = f", beside {system.base}" if system.base > 1 else ""
    shares = [f"{share:.0%} on {count} GPUs{beside}" for count, share in system.efficiencies.items()]
    period = scaling.remedy.period
    wire = "each GPU sends" + (f", every {period} steps" if period > 1 else "")
    said = system.said or "".join(shares[-1:])
    return Table(
        {
            "a GPU": setup.device.name,
            wire: format_bytes(sent),
            "one step": format_seconds(scaling.here.step_s),
            "speed-up": _times(scaling.here.speedup),
            "efficiency": format_share(scaling.here.efficiency),
            "all-reduce overtakes": none if crossover is None else f"at {crossover} GPUs",
            **({"published": said} if said else {}),
        },
        "computed, published" if said else "computed",
    )


def _crossing(scaling: Scaling) -> Lines:
    """The parts in seconds: with a fixed batch the passes shrink with the GPUs, and what is sent does not."""
    points, here = scaling.points(RANKS), scaling.here
    senders = RANKS[1:]  # one GPU sends nothing
    lines = {
        "a step": Line(RANKS, [point.step_s for point in points], INK),
        "forward and backward": Line(RANKS, [point.compute_s for point in points], COLORS["computing"]),
        "all-reduces": Line(senders, [point.communication_s for point in points[1:]], COLORS["all-reduce under it"]),
    }
    if plain := scaling.plain:
        without = [point.communication_s for point in plain.points(senders)]
        lines[f"all-reduces in {PLAIN}"] = Line(senders, without, COLORS["all-reduce under it"], DASHES[False][1])
    y = axis("time", [value for line in lines.values() for value in line.y], "s", log=True)
    for name, (count, mine) in crossings(scaling).items():
        if count <= RANKS[-1]:
            lines[name] = Line([count, count], [y.low, y.high], *DASHES[mine])
    parts = {"forward and backward": here.compute_s, "all-reduces": here.communication_s, "a step": here.step_s}
    return Lines(
        title="Where the parts cross",
        origin="computed",
        label="; ".join(f"{name}: {format_seconds(value)}" for name, value in parts.items()),
        lines=lines,
        x=axis("GPUs", RANKS, log=True, at=RANKS),
        y=y,
        here=(scaling.setting.ranks, here.step_s),
    )


def _efficiency(scaling: Scaling) -> Lines:
    ranks = [count for count in RANKS if count >= scaling.system.base]
    here = scaling.efficiency(scaling.here)
    computed = [scaling.efficiency(point) for point in scaling.points(tuple(ranks))]
    lines = {"this setting (computed)": Line(ranks, computed)}
    if plain := scaling.plain:
        without = [plain.efficiency(point) for point in plain.points(tuple(ranks))]
        lines[f"in {PLAIN} (computed)"] = Line(ranks, without, *DASHES[False])
    published = _published(scaling, scaling.system.efficiencies)
    return Lines(
        title="Efficiency by GPUs",
        origin="computed, published" if published else "computed",
        label=f"here: {format_share(here)} on {format_count(scaling.setting.ranks, 'GPU')}",
        lines=lines | published,
        x=axis("GPUs", RANKS, log=True, at=RANKS),
        y=axis("efficiency", [0], "%", high=1.0),
        here=(scaling.setting.ranks, here),
    )


def _published(scaling: Scaling, points: Mapping[int, float]) -> dict[str, Line]:
    author = scaling.setting.system.split(",")[0]
    return {f"{author} (published)": Line(list(points), list(points.values()), drawn="crosses")} if points else {}


class ScalingExplorer(SettingExplorer):
    """One data-parallel step by the model of chapter 10, and how it scales; at first in the room of the page. What
    others published of a system stands beside its line; the system's model, GPUs, network and batch are then used.
    """

    Setting = ScalingSetting

    @staticmethod
    def pictures(setting: ScalingSetting) -> list[str | Table | Sketch | Lines]:
        """All that is shown of a setting."""
        scaling = Scaling(setting)
        return [
            describe_scaling(scaling),
            columns_panel(scaling),
            _facts(scaling),
            _crossing(scaling),
            _efficiency(scaling),
        ]

    def prepare(self) -> None:
        """Disable what a published system has of its own, and early buckets where an outer step follows the inner."""
        given = self.controls["system"].value != OWN
        for name in ("workload", "speed", "bytes_per_s", "latency_s", "batch", "fixed"):
            disable(self.controls[name], given, "the published system has its own")
        outer = REMEDIES[self.controls["remedy"].value].period > 1
        disable(self.controls["early"], outer, "an outer step follows the inner ones, and nothing hides it")
