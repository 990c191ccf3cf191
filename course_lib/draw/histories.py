"""Training as pictures: loss by time or by updates, and how old the gradients were."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from matplotlib.axes import Axes
from matplotlib.ticker import FixedLocator, MaxNLocator, NullLocator, PercentFormatter

from course_lib.draw.curves import BAND
from course_lib.draw.style import COLORS, Look, Picture, finish, looks_of, new_picture, origins_of, put_title, styled
from course_lib.draw.units import format_seconds, log_ticks

__all__ = ["draw_losses", "draw_staleness", "losses_on", "shares_of_staleness", "staleness_on", "x_label_of"]

_X_LABELS = {"time_s": "time (s)", "updates": "updates", "gradients": "gradients", "steps": "steps"}


@styled
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
    picture, axes = new_picture(7.4, 3.8)
    losses_on(axes, histories, x, band)
    x_label = x_label_of(histories, x, origin)
    axes.set(xlabel=x_label, title=title or f"Loss by {x_label.split(' (')[0]}")
    picture.legend(loc="outside right upper", handlelength=2.6)
    ends = "; ".join(
        f"{name} ends at {history.loss[-1]:.3g} after {_reached(history, x)}" for name, history in histories.items()
    )
    return finish(picture, origin=origins_of(histories.values(), origin), alt=f"Loss by {x_label}: {ends}.", note=note)


def x_label_of(histories: Mapping[str, Any], x: str, origin: str | None = None) -> str:
    """What stands on the x axis; time is virtual where everything is simulated."""
    virtual = x == "time_s" and origins_of(histories.values(), origin) == "simulated"
    return f"virtual {_X_LABELS[x]}" if virtual else _X_LABELS[x]


def losses_on(axes: Axes, histories: Mapping[str, Any], x: str, band: str = "") -> None:
    """Draw the lines on axes."""
    styles: dict[str, Look] = looks_of(histories)
    for name, history in histories.items():
        look: dict[str, Any] = {"color": styles[name].color, "linestyle": styles[name].dash, "label": name}
        axes.plot(getattr(history, x), history.loss, **look | (BAND if name == band else {}))
    axes.set(yscale="log", xlabel=x_label_of(histories, x), ylabel="loss")
    low, high = axes.get_ylim()
    if high < 1000 * low:  # few enough decades for plain numbers
        axes.yaxis.set_major_locator(FixedLocator(log_ticks(low, high)))
        axes.yaxis.set_major_formatter("{x:g}")
        axes.yaxis.set_minor_locator(NullLocator())
    axes.grid(axis="y")


@styled
def draw_staleness(
    histories: Mapping[str, Any], *, origin: str | None = None, title: str = "", note: str = ""
) -> Picture:
    """The share of gradients by their staleness, one panel a history, on one scale; a dashed line at the mean.

    Args:
        histories: by name, anything with a row `staleness`, or such a row itself.
        origin: where the numbers are from; a history that says nothing itself is simulated.
    """
    picture, grid = new_picture(7.4, 0.5 + 1.3 * len(histories), len(histories), 1, sharex=True, squeeze=False)
    words = []
    for axes, (name, history) in zip(grid[:, 0], histories.items(), strict=True):
        staleness = list(getattr(history, "staleness", history))
        staleness_on(axes, staleness)
        mean = sum(staleness) / max(len(staleness), 1)
        axes.set_title(f"{name}: mean {mean:.3g}", fontsize=10)
        words.append(f"{name} mean {mean:.3g}, largest {max(staleness, default=0)}")
    grid[-1, 0].set_xlabel("staleness (updates)")
    put_title(picture, title)
    origin = origins_of(histories.values(), origin)
    return finish(picture, origin=origin, alt=f"Staleness of gradients: {'; '.join(words)}.", note=note)


def staleness_on(axes: Axes, staleness: list[int]) -> None:
    """Draw one histogram on axes."""
    shares = shares_of_staleness(staleness)
    axes.bar(list(shares), list(shares.values()), width=0.8, color=COLORS["blue"])
    axes.axvline(sum(staleness) / max(len(staleness), 1), color=COLORS["vermillion"], linestyle="--", linewidth=1.2)
    axes.set_ylabel("share")
    axes.yaxis.set_major_formatter(PercentFormatter(1, decimals=0))
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.grid(axis="y")


def shares_of_staleness(staleness: list[int]) -> dict[int, float]:
    """Each staleness that occurred and the share of gradients that had it.

    >>> shares_of_staleness([0, 1, 1, 3])
    {0: 0.25, 1: 0.5, 3: 0.25}
    """
    return {value: count / len(staleness) for value, count in sorted(Counter(staleness).items())}


def _reached(history: Any, x: str) -> str:
    last = getattr(history, x)[-1]
    return format_seconds(last) if x == "time_s" else f"{last} {x}"
