"""The pictures of the step explorer: one step's timeline, speed-up by ranks, and time by bucket size."""

from __future__ import annotations

import math
from collections.abc import Sequence

from course_lib.data_parallel import StepTimeline
from course_lib.draw.style import COLORS
from course_lib.draw.units import format_bytes, format_seconds, time_unit
from course_lib.widgets.step_model import BUCKETS, RANKS
from course_lib.widgets.svg import FAINT, INK, boxes, curve, ring, round_step, svg, words

__all__ = ["bucket_panel", "describe_step", "scaling_panel", "step_panel"]

_WIDE, _LEFT, _ROW = 900.0, 92.0, 34.0
_SMALL, _HIGH = 430.0, 200.0
_GRID = "rgba(128,128,128,0.3)"
_EXPOSED = COLORS["vermillion"]


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
    wide = _WIDE - _LEFT - 10
    scale = wide / (step.seconds or 1)

    def bars(stretches: Sequence, row: int, start_s: float = 0.0) -> list[tuple[float, float, float, float]]:
        shown = [(max(s.start_s, start_s), s.end_s) for s in stretches if s.end_s > start_s]
        return [(_LEFT + a * scale, row * _ROW + 4, max((b - a) * scale, 0.4), _ROW - 8) for a, b in shown]

    edge = "var(--jp-layout-color0,#ffffff)" if len(step.all_reduces) < 200 else "none"
    body = [boxes(bars(step.forward, 0), COLORS["sky"], edge), boxes(bars(step.backward, 0), COLORS["green"], edge)]
    body += [boxes(bars(step.all_reduces, 1), COLORS["blue"], edge)]
    body += [boxes(bars(step.all_reduces, 1, step.compute_s), _EXPOSED, edge)]
    body += [words(_LEFT - 8, (row + 0.5) * _ROW, text, anchor="end") for row, text in enumerate(("compute", "wire"))]
    body += _layer_numbers(step, scale) + _seconds_axis(step.seconds, 2 * _ROW, scale)
    legend = (
        ("sky", "forward"),
        ("green", "backward"),
        ("blue", "all-reduce"),
        ("vermillion", "all-reduce, waited for"),
    )
    for place, (color, text) in enumerate(legend):
        x = _LEFT + 130 * place
        body += [boxes([(x, 2 * _ROW + 28, 10, 10)], COLORS[color])]
        body += [words(x + 14, 2 * _ROW + 33, text, anchor="start", color=INK)]
    return svg(_WIDE, 2 * _ROW + 44, body, describe_step(step))


def scaling_panel(curves: dict[str, list[float]], here: tuple[int, float]) -> str:
    """Speed-up over one rank by the number of ranks, both logarithmic; the dashed gray line is the ideal."""
    x_of = {ranks: _LEFT / 2 + place * 34 for place, ranks in enumerate(RANKS)}

    def y_of(speed_up: float) -> float:
        return _HIGH - max(math.log2(max(speed_up, 0.5)), -1) * (_HIGH - 16) / 10

    body = [curve([(x_of[r], y_of(r)) for r in RANKS], _GRID, "5 4")]
    looks = {"overlapped": (COLORS["blue"], ""), "after the backward pass": (COLORS["orange"], "7 4")}
    for line, (name, speed_ups) in enumerate(curves.items()):
        color, dash = looks[name]
        body.append(curve([(x_of[r], y_of(s)) for r, s in zip(RANKS, speed_ups, strict=True)], color, dash))
        body.append(curve([(60, 14 + 18 * line), (84, 14 + 18 * line)], color, dash))
        body.append(words(90, 14 + 18 * line, name, anchor="start"))
    body.append(ring(x_of[here[0]], y_of(here[1])))
    body += [words(x_of[r], _HIGH + 12, str(r), color=FAINT) for r in RANKS[::2]]
    body += [words(_LEFT / 2 - 8, y_of(r), f"{r}×", anchor="end", color=FAINT) for r in RANKS[::2]]
    body.append(words(_SMALL / 2, _HIGH + 28, "ranks; up: speed-up, gray: ideal", color=FAINT))
    ends = ", ".join(f"{name} {speed_ups[-1]:.3g} times" for name, speed_ups in curves.items())
    label = f"Speed-up over one rank: {here[1]:.3g} times with {here[0]} ranks. With {RANKS[-1]} ranks: {ends}."
    return svg(_SMALL, _HIGH + 36, body, label)


def bucket_panel(seconds: list[float], compute_s: float, here: tuple[int, float]) -> str:
    """A step's time by bucket size; the dashed gray line is the computing alone."""
    most = max([*seconds, here[1]])
    unit_s, unit = time_unit(most)

    def place(size: float, second: float) -> tuple[float, float]:
        x = _LEFT / 2 + (math.log2(size) - math.log2(BUCKETS[0])) * 350 / (len(BUCKETS) - 1)
        return x, _HIGH - second / most * (_HIGH - 16)

    best = min(range(len(BUCKETS)), key=lambda i: (seconds[i], -i))
    body = [curve([place(BUCKETS[0], compute_s), place(BUCKETS[-1], compute_s)], _GRID, "5 4")]
    body.append(curve([place(*point) for point in zip(BUCKETS, seconds, strict=True)], COLORS["blue"]))
    body += [ring(*place(*here)), words(*place(BUCKETS[best], seconds[best] - most * 0.07), "▲ best", color=INK)]
    step = round_step(most / unit_s / 4)
    ticks = [i * step for i in range(int(most / unit_s / step) + 1)]
    body += [words(_LEFT / 2 - 8, place(1, t * unit_s)[1], f"{t:g}", anchor="end", color=FAINT) for t in ticks]
    body += [words(place(size, 0)[0], _HIGH + 12, format_bytes(size), color=FAINT) for size in BUCKETS[1::5]]
    body.append(words(_SMALL / 2, _HIGH + 28, f"bucket size; up: step in {unit}, gray: computing", color=FAINT))
    low = f"{format_seconds(seconds[best])} at {format_bytes(BUCKETS[best])}"
    label = f"Time of a step by bucket size: best {low}; here {format_seconds(here[1])} at {format_bytes(here[0])}."
    return svg(_SMALL, _HIGH + 36, body, label)


def _layer_numbers(step: StepTimeline, scale: float) -> list[str]:
    """Numbers in the bars that are wide enough for them: layers above, buckets below."""
    found = [(0, s) for s in (*step.forward, *step.backward)] + [(1, s) for s in step.all_reduces]
    wide = [(row, s) for row, s in found if (s.end_s - s.start_s) * scale > 18]
    colors = ("#1f1f1f", "#ffffff")
    return [
        words(_LEFT + (s.start_s + s.end_s) / 2 * scale, (row + 0.5) * _ROW, str(s.label), color=colors[row])
        for row, s in wide
    ]


def _seconds_axis(seconds: float, y: float, scale: float) -> list[str]:
    unit_s, unit = time_unit(seconds or 1)
    step = round_step(seconds / unit_s / 6)
    ticks = [i * step for i in range(int(seconds / unit_s / step) + 1)] if step else [0.0]
    marks = [words(_LEFT + t * unit_s * scale, y + 10, f"{t:g}", color=FAINT) for t in ticks]
    return [*marks, words(_LEFT - 16, y + 10, f"time in {unit}", anchor="end", color=FAINT)]
