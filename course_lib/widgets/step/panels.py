"""The pictures of the step explorer: one step's timeline, speed-up by ranks, and time by bucket size."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from course_lib.data_parallel import StepTimeline
from course_lib.draw.style import COLORS
from course_lib.draw.units import format_bytes, format_seconds, time_unit
from course_lib.widgets.html import legend
from course_lib.widgets.step.model import BUCKETS, RANKS
from course_lib.widgets.svg import (
    BOTTOM,
    FAINT,
    LEFT,
    RIGHT,
    TOP,
    WIDE,
    Box,
    boxes,
    chart,
    curve,
    edge_of,
    ring,
    round_ticks,
    wide_timeline,
    words,
)

__all__ = ["bucket_panel", "describe_step", "scaling_panel", "step_panel"]

_ROW = 34.0
_EXPOSED = COLORS["vermillion"]
LOOKS = {
    "overlapped": (COLORS["blue"], ""),
    "after the backward pass": (COLORS["orange"], "7 4"),
    "ideal": (FAINT, "2 4"),
}


def describe_step(step: StepTimeline) -> str:
    """One step in words: how much of the communication the backward pass hides."""
    wire_s = sum(stretch.end_s - stretch.start_s for stretch in step.all_reduces)
    exposed_s = step.seconds - step.compute_s
    count = len(step.all_reduces)
    text = f"A step takes {format_seconds(step.seconds)}: {format_seconds(step.compute_s)} of computing"
    if not wire_s:
        return f"{text}, and one rank has nobody to talk to."
    hidden = 1 - min(exposed_s / wire_s, 1.0)
    buckets = f"{count} bucket{'s' if count > 1 else ''}"
    return (
        f"{text} and {format_seconds(exposed_s)} of waiting. {buckets} take {format_seconds(wire_s)} on the wire; "
        f"{hidden:.0%} of that hides behind the backward pass."
    )


def step_panel(step: StepTimeline) -> str:
    """Passes above, layer by layer; all-reduces below, bucket by bucket, and red where nothing hides them."""
    scale = WIDE / (step.seconds or 1)

    def bars(stretches: Sequence, row: int, start_s: float = 0.0) -> list[Box]:
        shown = [(max(s.start_s, start_s), s.end_s) for s in stretches if s.end_s > start_s]
        return [(a * scale, row * _ROW + 4, max((b - a) * scale, 0.4), _ROW - 8) for a, b in shown]

    lanes = {
        "forward": (COLORS["sky"], bars(step.forward, 0)),
        "backward": (COLORS["green"], bars(step.backward, 0)),
        "all-reduce": (COLORS["blue"], bars(step.all_reduces, 1)),
        "all-reduce, waited for": (_EXPOSED, bars(step.all_reduces, 1, step.compute_s)),
    }
    edge = edge_of(4 * len(step.all_reduces))
    shapes = [boxes(where, color, edge) for color, where in lanes.values()]
    keys = legend((name, color, None) for name, (color, _) in lanes.items())
    rows = ("compute", "wire")
    return keys + wide_timeline(rows, _ROW, step.seconds, shapes, _numbers(step), describe_step(step))


def scaling_panel(curves: Mapping[str, Sequence[float]], here: tuple[int, float]) -> str:
    """Speed-up over one rank by the number of ranks, both logarithmic, and the ideal."""
    x_of = {ranks: LEFT + place * (RIGHT - LEFT) / (len(RANKS) - 1) for place, ranks in enumerate(RANKS)}

    def y_of(speed_up: float) -> float:
        return BOTTOM - max(math.log2(max(speed_up, 0.5)), -1) * (BOTTOM - TOP) / (len(RANKS) - 1)

    lines = {"ideal": RANKS, **curves}
    body = [
        curve([(x_of[r], y_of(s)) for r, s in zip(RANKS, lines[name], strict=True)], *LOOKS[name]) for name in lines
    ]
    body.append(ring(x_of[here[0]], y_of(here[1])))
    x_ticks, y_ticks = {x_of[r]: str(r) for r in RANKS[::2]}, {y_of(r): f"{r}×" for r in RANKS[::2]}
    ends = ", ".join(f"{name} {speed_ups[-1]:.3g} times" for name, speed_ups in curves.items())
    label = f"Speed-up over one rank: {here[1]:.3g} times with {here[0]} ranks. With {RANKS[-1]} ranks: {ends}."
    return legend((name, *LOOKS[name]) for name in [*curves, "ideal"]) + chart(
        body, x_ticks, "ranks", y_ticks, "speed-up", label
    )


def bucket_panel(seconds: Sequence[float], compute_s: float, here: tuple[int, float]) -> str:
    """A step's time by bucket size, and the computing alone."""
    most = max([*seconds, here[1]])
    unit_s, unit = time_unit(most)

    def place(size: float, second: float) -> tuple[float, float]:
        x = LEFT + math.log2(size / BUCKETS[0]) * (RIGHT - LEFT) / (len(BUCKETS) - 1)
        return x, BOTTOM - second / most * (BOTTOM - TOP)

    best = min(range(len(BUCKETS)), key=lambda i: (seconds[i], -i))
    body = [curve([place(BUCKETS[0], compute_s), place(BUCKETS[-1], compute_s)], FAINT, "2 4")]
    body.append(curve([place(*point) for point in zip(BUCKETS, seconds, strict=True)], COLORS["blue"]))
    x, y = place(BUCKETS[best], seconds[best])
    body += [ring(*place(*here)), words(x, y + 18, "▲"), words(x, y + 32, "best")]
    x_ticks = {place(size, 0)[0]: format_bytes(size) for size in BUCKETS[1::5]}
    y_ticks = {place(1, tick * unit_s)[1]: f"{tick:g}" for tick in round_ticks(most / unit_s, 5)}
    low = f"{format_seconds(seconds[best])} at {format_bytes(BUCKETS[best])}"
    label = f"Time of a step by bucket size: best {low}; here {format_seconds(here[1])} at {format_bytes(here[0])}."
    keys = legend([("one step", COLORS["blue"], ""), ("its computing alone", FAINT, "2 4")])
    return keys + chart(body, x_ticks, "bucket size", y_ticks, f"time in {unit}", label)


def _numbers(step: StepTimeline) -> list[str]:
    """Numbers in the bars that are wide enough for them: layers above, buckets below."""
    found = [(0, s, "#1f1f1f") for s in (*step.forward, *step.backward)]
    found += [(1, s, "#ffffff") for s in step.all_reduces]
    return [
        words(f"{50 * (s.start_s + s.end_s) / step.seconds:.2f}%", (row + 0.5) * _ROW, str(s.label), color=color)
        for row, s, color in found
        if s.end_s - s.start_s > 0.03 * step.seconds
    ]
