"""The pictures of the step explorer: one step's timeline, speed-up by servers, and time by bucket size."""

from __future__ import annotations

from course_lib.data_parallel import StepTimeline
from course_lib.draw.data_parallel import step_panel
from course_lib.draw.looks import FILLS
from course_lib.draw.panels import Line, Lines, Table, Timeline, axis
from course_lib.draw.units import format_bytes, format_count, format_seconds, format_share
from course_lib.widgets.step.model import BATCH, BUCKETS, RANKS, StepSetting, bucket_curve, scaling_curve, timeline_of

__all__ = ["describe_step", "pictures"]


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
    either = setting._replace(world_size=1)
    names = {"overlapped": True, "after the backward pass": False}
    curves = {name: scaling_curve(either._replace(overlap=overlap)) for name, overlap in names.items()}
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
    seconds = bucket_curve(setting._replace(bucket_bytes=0))
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
