"""Bars that shall reach a goal: what a lecture's picture that grows is made of."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from course_lib.draw.colors import COLORS
from course_lib.draw.panels import Axis, Bars

__all__ = ["goal_bars", "goal_color"]


def goal_color(reached: bool) -> str:
    """Green where the goal is reached, blue where it is not."""
    return COLORS["green" if reached else "blue"]


def goal_bars(
    values: Mapping[str, float],
    what: str,
    *,
    along: Axis,
    limit: tuple[str, float],
    colors: Mapping[str, str],
    show: Callable[[float], str] | None,
    title: str,
    origin: str,
    row_px: float = 32.0,
) -> Bars:
    """A bar for each name, with its value beside it as `show` writes it, and a dashed line, `limit`, with its words.

    Args:
        what: a bar shows, as in "a speed-up"; an error says it.
        along: the axis; it does not depend on the values, so that pictures with more bars can be compared.

    Raises:
        ValueError: if there is no bar.
    """
    if not values:
        raise ValueError(f"there must be {what} to draw, got none")
    return Bars(
        title=title,
        origin=origin,
        wide=True,
        bars={name: {name: value} for name, value in values.items()},
        axis=along,
        colors=colors,
        limits=dict([limit]),
        show=show,
        row_px=row_px,
        grid=True,
    )
