"""How many times faster many GPUs are than one: a bar for each way to average, and the goal."""

from __future__ import annotations

from collections.abc import Mapping

from course_lib.draw.goal import goal_bars, goal_color
from course_lib.draw.panels import axis
from course_lib.draw.panels.picture import picture_of
from course_lib.draw.style import Picture

__all__ = ["draw_speedups"]


def draw_speedups(
    speedups: Mapping[str, float], *, gpus: int = 16, goal: float = 0.9, origin: str = "computed", title: str = ""
) -> Picture:
    """A bar for each way by name, with its speed-up written beside it, and a dashed line at `goal` times `gpus`.

    A bar that reaches the goal is green. The axis always ends at `gpus`, so that pictures with more bars can be
    compared.

    Raises:
        ValueError: if there is no bar.

    >>> draw_speedups({"fp32": 0.61, "1 bit": 15.0}).alt
    'Speed-up of 16 GPUs over one, goal 14.4: fp32 0.61, 1 bit 15.0. (computed)'
    """
    reached = goal * gpus
    panel = goal_bars(
        speedups,
        "a speed-up",
        along=axis("speed-up", [gpus], most=9),
        limit=(f"goal: {reached:.1f}", reached),
        colors={name: goal_color(value >= reached) for name, value in speedups.items()},
        show=_times,
        title=title or f"Speed-up of {gpus} GPUs",
        origin=origin,
    )
    words = ", ".join(f"{name} {_times(value)}" for name, value in speedups.items())
    return picture_of([panel], alt=f"Speed-up of {gpus} GPUs over one, goal {reached:.1f}: {words}.")


def _times(speedup: float) -> str:
    return f"{speedup:.1f}" if speedup >= 2 else f"{speedup:.2f}"
