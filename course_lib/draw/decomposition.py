"""Test accuracy against how many numbers of a layer learn, for forms of that layer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from course_lib.draw.lines import Axis, draw_lines
from course_lib.draw.style import Picture

__all__ = ["draw_forms"]


def draw_forms(
    forms: Mapping[str, Sequence[tuple[float, float]]], *, goal: float, origin: str = "measured", title: str = ""
) -> Picture:
    """A marker for each layer that was tried, (numbers, accuracy) by the name of its form, and a line at the goal.

    The axes always run from 100 to 100,000 numbers and from 0% to 100%, so that pictures with more forms can be compared.

    Raises:
        ValueError: if there is no form.

    >>> draw_forms({"thin": [(496, 0.46), (2976, 0.97)]}, goal=0.96).alt
    'accuracy against numbers that learn: thin from 46% at 496 to 97% at 2,976; goal from 96% at 100 to 96% at 100,000. (measured, computed)'
    """  # noqa: E501
    if not forms:
        raise ValueError("there must be a form to draw, got none")
    ends = (100, 100_000)
    lines: dict[str, tuple[Sequence[float], Sequence[float], str]] = {}
    for name, tried in forms.items():
        lines[name] = [numbers for numbers, _ in tried], [accuracy for _, accuracy in tried], origin
    lines["goal"] = ends, [goal, goal], "computed"
    across = Axis("numbers that learn", "{:,.0f}".format, log=True, ticks=(100, 1_000, 10_000, 100_000))
    up = Axis("accuracy", "{:.0%}".format, ticks=(0, 0.2, 0.4, 0.6, 0.8, 1))
    return draw_lines(lines, across, up, title=title)
