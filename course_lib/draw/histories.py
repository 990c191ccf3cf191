"""Training as pictures: loss by time or by updates, and how old the gradients were."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from course_lib.draw.colors import COLORS
from course_lib.draw.line_charts import PAGE_PX, Axis, scaled
from course_lib.draw.panels import Bars, Line, Lines, axis
from course_lib.draw.panels.picture import picture_of
from course_lib.draw.style import Picture, origins_of
from course_lib.draw.units import format_power, format_seconds

_X_LABELS = {"time_s": "time (s)", "updates": "updates", "gradients": "gradients", "steps": "steps"}


def draw_losses(
    histories: Mapping[str, Any],
    x: str = "time_s",
    *,
    origin: str | None = None,
    band: str = "",
    title: str = "",
    note: str = "",
) -> Picture:
    """Loss on a logarithmic axis, one line a history.

    Args:
        histories: by name, anything with a row `loss` and a row named by `x`.
        x: "time_s", "updates", "gradients" or "steps".
        origin: where the numbers are from; a history that says nothing itself is simulated.
        band: the history that is drawn as a wide band, for others to lie on.

    Raises:
        ValueError: if `x` is none of these.
    """
    if x not in _X_LABELS:
        raise ValueError(f"x must be one of {', '.join(_X_LABELS)}, got {x!r}")
    x_label = x_label_of(histories, x, origin)
    ends = "; ".join(
        f"{name} ends at {history.loss[-1]:.3g} after {_reached(history, x)}" for name, history in histories.items()
    )
    title = title or f"Loss by {x_label.split(' (')[0]}"
    panel = loss_panel(histories, x, title=title, origin=origin, band=band)
    return picture_of([panel], alt=f"Loss by {x_label}: {ends}.", note=note)


def x_label_of(histories: Mapping[str, Any], x: str, origin: str | None = None) -> str:
    """What stands on the x axis; time is virtual where everything is simulated."""
    virtual = x == "time_s" and origins_of(histories.values(), origin) == "simulated"
    return f"virtual {_X_LABELS[x]}" if virtual else _X_LABELS[x]


def loss_panel(
    histories: Mapping[str, Any],
    x: str = "time_s",
    *,
    title: str,
    origin: str | None = None,
    band: str = "",
    dots: bool = False,
    **more: Any,
) -> Lines:
    """Losses as a panel; `dots`: one where each line ends. `more`: what else Lines have."""
    lines: dict[str, Line | list[Line]] = {}
    for number, (name, history) in enumerate(histories.items()):
        row = getattr(history, x)
        line = Line(row, history.loss, drawn="band" if name == band else "line")
        size_px = max(14.0 - 1.5 * number, 7.0)  # smaller and smaller: no dot hides another
        lines[name] = [line, Line(row[-1:], history.loss[-1:], drawn="dots", size_px=size_px)] if dots else line
    losses = [loss for history in histories.values() for loss in history.loss]
    places = [place for history in histories.values() for place in getattr(history, x)]
    look: dict[str, Any] = {"wide": True, "height_px": PAGE_PX, "grid": "y"} | more
    return Lines(
        title=title,
        origin=origins_of(histories.values(), origin),
        lines=lines,
        x=axis(x_label_of(histories, x, origin), places, show="{:g}".format, most=8),
        **{"y": scaled(Axis("loss", format_power, log=True), losses)} | look,
    )


def draw_staleness(
    histories: Mapping[str, Any], *, origin: str | None = None, title: str = "", note: str = ""
) -> Picture:
    """The share of gradients by their staleness, one panel a history, on one scale; a dashed line at the mean.

    Args:
        histories: by name, anything with a row `staleness`, or such a row itself.
        origin: where the numbers are from; a history that says nothing itself is simulated.
    """
    origin = origins_of(histories.values(), origin)
    words, panels = [], []
    ages = {name: list(getattr(history, "staleness", history)) for name, history in histories.items()}
    oldest = max(max(each, default=0) for each in ages.values())
    for name, staleness in ages.items():
        mean = mean_of(staleness)
        title_of = f"{name}: mean {mean:.3g}"
        panels.append(
            staleness_panel(staleness, title=title_of, origin=origin, oldest=oldest, wide=True, height_px=80.0)
        )
        words.append(f"{name} mean {mean:.3g}, largest {max(staleness, default=0)}")
    return picture_of(panels, alt=f"Staleness of gradients: {'; '.join(words)}.", note=note, title=title, shared=True)


def staleness_panel(staleness: Sequence[int], *, title: str, origin: str, oldest: int = 0, **more: Any) -> Bars:
    """One histogram as a panel, with a dashed line at the mean; `oldest`: that its axis has room for."""
    shares = shares_of_staleness(staleness)
    named = "share of gradients"
    marks = {"mean": (mean_of(staleness), COLORS["vermillion"])}
    look: dict[str, Any] = {"marks": marks, "axis": axis(named, shares.values(), "%", low=0.0, most=3), "grid": True}
    return Bars(
        title=title,
        origin=origin,
        bars={str(age): {named: shares.get(age, 0.0)} for age in range(max([*shares, oldest]) + 1)},
        upright=True,
        names="staleness (updates)",
        colors={named: COLORS["blue"]},
        **look | more,
    )


def mean_of(staleness: Sequence[int]) -> float:
    """The mean staleness; 0 where there was no gradient."""
    return sum(staleness) / max(len(staleness), 1)


def shares_of_staleness(staleness: Sequence[int]) -> dict[int, float]:
    """Each staleness that occurred and the share of gradients that had it.

    >>> shares_of_staleness([0, 1, 1, 3])
    {0: 0.25, 1: 0.5, 3: 0.25}
    """
    return {value: count / len(staleness) for value, count in sorted(Counter(staleness).items())}


def _reached(history: Any, x: str) -> str:
    last = getattr(history, x)[-1]
    return format_seconds(last) if x == "time_s" else f"{last} {x}"
