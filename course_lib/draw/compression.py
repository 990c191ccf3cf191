"""What each remedy sends, and how well it trains."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

from matplotlib.ticker import FuncFormatter

from course_lib.compression.experiments import Outcome
from course_lib.draw.style import COLORS, INK, Picture, finish, new_picture, styled
from course_lib.draw.units import format_bytes

__all__ = [
    "draw_remedies",
]


@styled
def draw_remedies(outcomes: Sequence[Outcome], *, origin: str, title: str = "", least: float = 0.0) -> Picture:
    """Accuracy against bytes: a point for each remedy at its median, a bar from its worst seed to its best.

    Remedies stand in the order of their bytes, the fewest at the top; the accuracy has an axis of its own, which begins
    at `least`. What lies below is an arrowhead there; its number stands beside it, as every median's does.
    """
    if not outcomes:
        raise ValueError("there must be an outcome to draw, got none")
    ordered = sorted(outcomes, key=lambda outcome: -outcome.step_bytes)
    picture, (left, right) = new_picture(7.4, 0.8 + 0.33 * len(ordered), 1, 2, sharey=True)
    places = range(len(ordered))
    left.plot([outcome.step_bytes for outcome in ordered], places, "o", color=COLORS["blue"], markersize=7)
    left.set_xscale("log")
    left.xaxis.set_major_formatter(FuncFormatter(lambda value, _: format_bytes(value)))
    left.set_xlabel("sent by a rank in a step")
    left.set_yticks(places, [outcome.remedy for outcome in ordered])
    for place, outcome in zip(places, ordered, strict=True):
        low, middle, high = (100 * max(least, of(outcome.accuracies)) for of in (min, median, max))
        mark = "o" if median(outcome.accuracies) >= least else "<"
        right.plot([low, high], [place, place], color=INK, linewidth=2)
        right.plot([middle], [place], mark, color=COLORS["vermillion"], markersize=7)
        right.annotate(_percent(outcome), (high, place), (8, 0), textcoords="offset points", va="center", fontsize=9)
    right.set_xlim(100 * least - 1.5, 100 + 0.2 * (100 - 100 * least))
    right.set_xlabel("accuracy, median and range (%)")
    for axes in (left, right):
        axes.grid(axis="y", alpha=0.4)
    picture.suptitle(title or "What each remedy sends, and how well it trains", x=0.01, ha="left")
    words = "; ".join(
        f"{outcome.remedy} sends {format_bytes(outcome.step_bytes)} and reaches {_percent(outcome)}"
        for outcome in ordered
    )
    return finish(picture, origin=origin, alt=f"Remedies by bytes and accuracy: {words}.")


def _percent(outcome: Outcome) -> str:
    return f"{100 * median(outcome.accuracies):.3g}%"
