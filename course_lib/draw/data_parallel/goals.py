"""The critical batch size as a picture: updates and examples that a goal takes, by batch size."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from matplotlib.ticker import FuncFormatter, LogLocator

from course_lib.draw.style import COLORS, PAGE_IN, Picture, finish, new_picture, styled

__all__ = ["draw_goals"]


@styled
def draw_goals(
    goals: Sequence[Any], critical: float, fewest: float, *, origin: str = "measured", note: str = ""
) -> Picture:
    """Two panels over the batch size: updates, and examples computed, with the curves of fewest × (1 + critical/B).

    Args:
        goals: anything with `batch_size`, `updates` and `examples`.
        critical, fewest: of the fitted curve; a dashed line stands at the critical batch size.
        origin: where the goals are from; the curve is computed.
    """
    picture, (left, right) = new_picture(PAGE_IN, 3.4, 1, 2)
    sizes = [goal.batch_size for goal in goals]
    for axes, name in ((left, "updates"), (right, "examples")):
        counts = [getattr(goal, name) for goal in goals]
        each = sizes if name == "examples" else [1] * len(sizes)
        fitted = [fewest * (1 + critical / size) * factor for size, factor in zip(sizes, each, strict=True)]
        axes.plot(sizes, fitted, color=COLORS["blue"], label="fewest × (1 + critical / batch), computed")
        axes.plot(sizes, counts, "o", color=COLORS["vermillion"], label=origin)
        axes.axvline(critical, color="#5a5a5a", linestyle="--", linewidth=1, label="critical batch size")
        axes.set_xscale("log", base=2)
        axes.set_yscale("log")
        axes.set_xticks(sizes, [f"{size:g}" for size in sizes])
        axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axes.yaxis.set_major_formatter(FuncFormatter(lambda count, _: f"{count:,.0f}"))
        axes.minorticks_off()
        axes.set(title=f"{name.capitalize()} to the goal", xlabel="batch size", ylabel=name)
        axes.grid(axis="y")
    picture.legend(*left.get_legend_handles_labels(), loc="outside upper left", ncols=3)
    words = "; ".join(f"batch {g.batch_size}: {g.updates} updates, {g.examples} examples" for g in goals)
    alt = f"What the goal takes: {words}. The dashed line stands at the critical batch size, {critical:.3g}."
    return finish(picture, origin=f"{origin}, computed", alt=alt, note=note)
