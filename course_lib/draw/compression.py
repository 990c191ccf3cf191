"""What each remedy sends, and how well it trains."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median
from typing import Any

from course_lib.compression.experiments import Outcome
from course_lib.draw.colors import COLORS
from course_lib.draw.panels import Bars, axis
from course_lib.draw.panels.picture import picture_of
from course_lib.draw.style import Picture
from course_lib.draw.units import format_bytes

__all__ = ["draw_remedies"]

_ROW_PX = 30.0


def draw_remedies(outcomes: Sequence[Outcome], *, origin: str, title: str = "", least: float = 0.0) -> Picture:
    """Accuracy against bytes: a point for each remedy at its median, a bar from its worst seed to its best.

    Remedies stand in the order of their bytes, the fewest at the top; the accuracy has an axis of its own, which begins
    at `least`. What lies below is an arrowhead there; its number stands beside it, as every median's does.
    """
    if not outcomes:
        raise ValueError("there must be an outcome to draw, got none")
    ordered = sorted(outcomes, key=lambda outcome: -outcome.step_bytes)[::-1]
    sizes = [outcome.step_bytes for outcome in ordered]
    look: dict[str, Any] = {"origin": origin, "points": True, "row_px": _ROW_PX}
    sent = Bars(
        title="sent by a rank in a step",
        bars={outcome.remedy: {"bytes": outcome.step_bytes} for outcome in ordered},
        axis=axis("bytes", sizes, show=format_bytes, log=True, low=min(sizes) / 2, most=4),
        colors={"bytes": COLORS["blue"]},
        show=format_bytes,
        **look,
    )
    reached = Bars(
        title="accuracy: median, and worst to best seed",
        bars={outcome.remedy: {"median": median(outcome.accuracies)} for outcome in ordered},
        axis=axis("accuracy", [1.0], "%", low=least, most=4),
        colors={"median": COLORS["vermillion"]},
        ranges={
            outcome.remedy: (max(least, min(outcome.accuracies)), max(least, *outcome.accuracies))
            for outcome in ordered
        },
        show=_percent,
        named=False,
        **look,
    )
    words = "; ".join(
        f"{outcome.remedy} sends {format_bytes(outcome.step_bytes)} and reaches {_percent(median(outcome.accuracies))}"
        for outcome in reversed(ordered)
    )
    title = title or "What each remedy sends, and how well it trains"
    return picture_of(
        [sent, reached], alt=f"Remedies by bytes and accuracy: {words}.", title=title, shares=(0.55, 0.45)
    )


def _percent(share: float) -> str:
    return f"{100 * share:.3g}%"
