"""How many GPUs of a machine are busy: a bar for each way to bring them their data, and the goal."""

from __future__ import annotations

from collections.abc import Mapping

from course_lib.draw.goal import goal_bars, goal_color
from course_lib.draw.panels import axis
from course_lib.draw.panels.picture import picture_of
from course_lib.draw.style import Picture

__all__ = ["draw_busy_gpus"]

_ROW_PX = 30.0


def draw_busy_gpus(
    busy: Mapping[str, float], *, gpus: int = 8, goal: float = 7.2, origin: str = "computed", title: str = ""
) -> Picture:
    """A bar for each way by name, with its busy GPUs written beside it, and a dashed line at the goal.

    A bar that reaches the goal is green. The axis always ends at `gpus`, so that pictures with more bars can be
    compared.

    Raises:
        ValueError: if there is no bar, or one has more busy GPUs than a machine has.

    >>> draw_busy_gpus({"one reader": 0.238, "34 readers": 8.0}).alt
    'Busy GPUs, of 8, goal 7.2: one reader 0.24, 34 readers 8.0. (computed)'
    """
    if not busy or max(busy.values()) > gpus + 1e-9:
        raise ValueError(f"there must be bars of at most {gpus} GPUs, got {dict(busy)}")
    panel = goal_bars(
        busy,
        "a way to read",
        along=axis("busy GPUs of a machine", [gpus], most=9),
        limit=(f"goal: {goal:.1f}", goal),
        colors={name: goal_color(count >= goal) for name, count in busy.items()},
        show=_count,
        title=title or f"Busy GPUs, of {gpus}",
        origin=origin,
        row_px=_ROW_PX,
    )
    words = ", ".join(f"{name} {_count(count)}" for name, count in busy.items())
    return picture_of([panel], alt=f"Busy GPUs, of {gpus}, goal {goal:.1f}: {words}.")


def _count(busy: float) -> str:
    if not busy:
        return "0"
    return f"{busy:.1f}" if busy >= 1 else f"{busy:.2f}"
