"""Test accuracy against how many numbers the weight of a layer is made of, for forms of that layer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from course_lib.draw.colors import INK
from course_lib.draw.lines import Axis, Curve, lines_panel
from course_lib.draw.panels import Line, axis
from course_lib.draw.panels.picture import picture_of
from course_lib.draw.style import Picture

__all__ = ["draw_forms"]

_ENDS = (100, 100_000)  # of the axis of numbers


def draw_forms(
    forms: Mapping[str, Sequence[tuple[float, float]]], *, goal: float, origin: str = "measured", title: str = ""
) -> Picture:
    """A marker for each layer that was tried, (numbers, accuracy) by the name of its form, and a line at the goal.

    The axes run from 100 to 100,000 numbers and from 0% to 100%, so that pictures with more forms can be compared.

    Raises:
        ValueError: if there is no form.

    >>> draw_forms({"thin": [(496, 0.46), (2976, 0.97)]}, goal=0.96).alt
    'Accuracy against numbers of the weight, goal 96%: thin 46% with 496, 97% with 2,976. (measured)'
    """
    if not forms:
        raise ValueError("there must be a form to draw, got none")
    curves = []
    for name, tried in forms.items():
        curves.append(Curve(name, [n for n, _ in tried], [share for _, share in tried], origin))
    across = Axis("numbers of the weight", "{:,.0f}".format, log=True, ticks=[10**power for power in range(2, 6)])
    panel = lines_panel(curves, across, Axis("accuracy"), title=title)
    lines = {**panel.lines, f"goal: {goal:.0%}": Line(_ENDS, [goal, goal], INK, (6, 3))}
    ends = axis(across.label, _ENDS, log=True, at=across.ticks, show=across.show)
    panel = replace(
        panel, lines=lines, x=ends, y=axis("accuracy", [0, 1], at=[0, 0.25, 0.5, 0.75, 1], show="{:.0%}".format)
    )
    words = [", ".join(f"{share:.0%} with {n:,.0f}" for n, share in tried) for tried in forms.values()]
    told = "; ".join(f"{name} {each}" for name, each in zip(forms, words, strict=True))
    return picture_of([panel], alt=f"Accuracy against numbers of the weight, goal {goal:.0%}: {told}.")
