"""The step explorer: what one data-parallel step spends its time on, and how far it scales."""

from __future__ import annotations

from functools import partial

from course_lib.draw.curves import label_bytes_axis, label_ranks_axis
from course_lib.draw.data_parallel.steps import step_legend, step_on
from course_lib.draw.style import COLORS, PAGE_IN, Picture, finish, new_picture, styled
from course_lib.draw.units import format_bytes, format_rate, format_seconds, time_unit
from course_lib.widgets.controls import bytes_slider, menu, number, rate_slider, scale, seconds_slider
from course_lib.widgets.explorer import Explorer, Panel, on_setting
from course_lib.widgets.html import numbers_html
from course_lib.widgets.step.model import BUCKETS, KINDS, RANKS, StepSetting, bucket_curve, scaling_curve, timeline_of
from course_lib.widgets.step.panels import bucket_panel, describe_step, scaling_panel, step_panel

__all__ = ["StepExplorer"]

_OVERLAP = {"during the backward pass": True, "after the backward pass": False}
_FLOPS = [1e11, 1e12, 1e13, 3e13, 1e14, 3e14, 1e15]


of = partial(on_setting, StepSetting)


class StepExplorer(Explorer):
    """One data-parallel step to take apart: its timeline, its speed-up by ranks, and its best bucket size.

    Everything is computed by `step_timeline`: equal layers, equal ranks, rings, float32 gradients.

    Args:
        world_size, batch, parameters, kind, layers, flops_per_s, latency_s, bytes_per_s, bucket_bytes, overlap: where
            the controls stand at first. `batch` is each rank's, `kind` a key of KINDS.
    """

    above = ("numbers",)
    wide = ("step",)

    def __init__(
        self,
        *,
        world_size: int = 8,
        batch: int = 64,
        parameters: int = 25_000_000,
        kind: str = "convnet (ResNet-50)",
        layers: int = 32,
        flops_per_s: float = 1e13,
        latency_s: float = 1e-4,
        bytes_per_s: float = 2e9,
        bucket_bytes: int = 2**24,
        overlap: bool = True,
    ) -> None:
        millions = [1, 5, 25, 100, 138, 340, 1000, 7000]
        sizes = sorted({*(m * 10**6 for m in millions), parameters})
        controls = {
            "world_size": scale("ranks", RANKS, world_size),
            "batch": scale("batch of a rank", [2**k for k in range(13)], batch),
            "parameters": scale("parameters", sizes, parameters, lambda n: f"{n / 1e6:g} million"),
            "kind": menu("kind of network", list(KINDS), kind),
            "layers": number("layers", 1, 48, layers),
            "flops_per_s": scale("device", _FLOPS, flops_per_s, lambda x: f"{x / 1e12:g} TFLOP/s"),
            "latency_s": seconds_slider("latency", latency_s),
            "bytes_per_s": rate_slider("bandwidth", bytes_per_s),
            "bucket_bytes": bytes_slider("bucket", bucket_bytes, BUCKETS[0], BUCKETS[-1]),
            "overlap": menu("all-reduces", _OVERLAP, overlap),
        }
        panels = {
            "numbers": Panel(of(lambda s: numbers_html(_facts(s), "computed"))),
            "step": Panel(of(lambda s: step_panel(timeline_of(s))), None, "One step", "computed"),
            "scaling": Panel(of(_scaling_panel), None, "Speed-up by ranks; the ring is here", "computed"),
            "buckets": Panel(of(_bucket_panel), None, "A step's time by bucket size", "computed"),
        }
        caption = of(lambda s: describe_step(timeline_of(s)))
        super().__init__(panels, caption=caption, still=of(_draw_still), **controls)


def _facts(setting: StepSetting) -> dict[str, str]:
    step = timeline_of(setting)
    wire_s = sum(stretch.end_s - stretch.start_s for stretch in step.all_reduces)
    return {
        "one step": format_seconds(step.seconds),
        "computing": format_seconds(step.compute_s),
        "on the wire": format_seconds(wire_s),
        "waited for": format_seconds(step.seconds - step.compute_s),
        "efficiency": f"{step.compute_s / step.seconds:.0%}",
        "batch in all": f"{setting.batch * setting.world_size:,}",
        "examples per second": f"{setting.batch * setting.world_size / step.seconds:,.0f}",
    }


def _scaling(setting: StepSetting) -> dict[str, list[float]]:
    either = setting._replace(world_size=1)
    names = {"overlapped": True, "after the backward pass": False}
    return {name: scaling_curve(either._replace(overlap=overlap)) for name, overlap in names.items()}


def _scaling_panel(setting: StepSetting) -> str:
    step = timeline_of(setting)
    return scaling_panel(_scaling(setting), (setting.world_size, setting.world_size * step.compute_s / step.seconds))


def _bucket_panel(setting: StepSetting) -> str:
    step = timeline_of(setting)
    seconds = bucket_curve(setting._replace(bucket_bytes=0))
    return bucket_panel(seconds, step.compute_s, (setting.bucket_bytes, step.seconds))


@styled
def _draw_still(setting: StepSetting) -> Picture:
    step, seconds = timeline_of(setting), bucket_curve(setting._replace(bucket_bytes=0))
    picture, grid = new_picture(PAGE_IN, 4.8, 2, 2, height_ratios=[1, 2.2])
    for axes in grid[0]:
        axes.remove()
    timeline = picture.add_subplot(grid[0, 0].get_gridspec()[0, :])
    step_on(timeline, step, step.seconds)
    timeline.set(title="One step", xlabel=f"time ({time_unit(step.seconds)[1]})")
    above = {"loc": "lower right", "bbox_to_anchor": (1.0, 0.99), "borderaxespad": 0.2}
    timeline.legend(handles=step_legend(), ncols=4, columnspacing=1.2, handlelength=1.2, **above)
    scaling, buckets = grid[1]
    for (name, speed_ups), dash in zip(_scaling(setting).items(), ("-", "--"), strict=True):
        scaling.plot(RANKS, speed_ups, dash, color=COLORS["blue" if name == "overlapped" else "orange"], label=name)
    scaling.plot(RANKS, RANKS, ":", color="gray", label="ideal")
    scaling.set(xscale="log", yscale="log", title="Speed-up by ranks", xlabel="ranks", ylabel="speed-up")
    label_ranks_axis(scaling, RANKS, most=6)
    scaling.set_yticks(RANKS[::2], [f"{ranks}×" for ranks in RANKS[::2]])
    scaling.minorticks_off()
    scaling.legend()
    unit_s, unit = time_unit(max(seconds))
    buckets.plot(BUCKETS, [s / unit_s for s in seconds], color=COLORS["blue"])
    buckets.plot([setting.bucket_bytes], [step.seconds / unit_s], "o", color=COLORS["vermillion"], label="here")
    buckets.set(xscale="log", title="A step's time by bucket size", xlabel="bucket size", ylabel=f"step ({unit})")
    label_bytes_axis(buckets, BUCKETS, most=4)
    buckets.set_ylim(0)
    buckets.legend()
    speed = f"{format_seconds(setting.latency_s)}, {format_rate(setting.bytes_per_s)}"
    note = f"{setting.parameters / 1e6:g} M parameters, {speed}; the controls work in JupyterLab"
    sizes = f"{setting.world_size} ranks, batch {setting.batch}, buckets of {format_bytes(setting.bucket_bytes)}"
    return finish(picture, origin="computed", alt=f"Step explorer: {sizes}. {describe_step(step)}", note=note)
