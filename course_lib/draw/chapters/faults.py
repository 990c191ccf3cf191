"""The pictures of chapter 12: messages that cross, ranks that live and die."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from course_lib.draw.colors import COLORS, INK, MUTED
from course_lib.draw.panels import Bars, axis
from course_lib.draw.panels.picture import picture_of
from course_lib.draw.style import PAGE_IN, Picture, finish, new_picture, put_title, styled
from course_lib.faults.delivery import Crossing, Delivery
from course_lib.faults.experiments import KilledTraining

_NUMBER_ROOM = 0.06  # share of the axis that a number or a pair of them needs
_LOOKS: dict[str, dict[str, Any]] = {
    "message": {"color": COLORS["blue"]},
    "message, again": {"color": COLORS["vermillion"], "linestyle": "--"},
    "acknowledgment": {"color": COLORS["green"], "linestyle": ":"},
}


# The four parts of what a failure costs, on the page and in the explorer.
COST_COLORS = {
    "notice": COLORS["orange"],
    "restart": COLORS["vermillion"],
    "lost work": COLORS["blue"],
    "saves": COLORS["sky"],
}


def draw_failure_costs(costs: Mapping[str, Mapping[str, float]], mtbf_min: float, *, title: str = "") -> Picture:
    """A bar for each plan: the minutes that a failure costs it, by part; and a tenth of the time between failures.

    Args:
        costs: plan -> part -> minutes.
    """
    bars = {f"{plan}: {sum(parts.values()):.1f}": parts for plan, parts in costs.items()}
    limit = f"a tenth of M: {mtbf_min / 10:.1f}"
    panel = Bars(
        title=title or "What a failure costs",
        origin="computed",
        bars=bars,
        axis=axis(
            "minutes for each failure", [mtbf_min / 10, *(1.05 * sum(parts.values()) for parts in costs.values())]
        ),
        limits={limit: mtbf_min / 10},
        colors=COST_COLORS,
        wide=True,
        row_px=38.0,
    )
    return picture_of([panel], alt=f"Minutes for each failure, and {limit}. {'; '.join(bars)}.")


@styled
def draw_crossings(delivery: Delivery, until_s: float = math.inf, *, title: str = "", note: str = "") -> Picture:
    """Every packet that left before `until_s`, as an arrow from one end of the wire to the other.

    Raises:
        ValueError: if no packet left until then.
    """
    drawn = [crossing for crossing in delivery.crossings if crossing.left_s < until_s]
    if not drawn:
        raise ValueError(f"there must be a packet to draw before {until_s} s, got none")
    picture, axes = new_picture(PAGE_IN, 2.8)
    seen: set[int] = set()
    counts = dict.fromkeys([*_LOOKS, "lost"], 0)
    for crossing in drawn:
        kind = _kind(crossing, seen)
        counts[kind] += 1
        counts["lost"] += not crossing.arrived_s
        _arrow(axes, crossing, _LOOKS[kind])
    _number(axes, [crossing for crossing in drawn if crossing.forth])
    axes.set(yticks=[0, 1], yticklabels=["receiver", "sender"], ylim=(-0.12, 1.25))
    axes.set_xlabel("virtual time (s)", fontsize=9, color=MUTED)
    axes.tick_params(colors=MUTED)
    put_title(picture, title or f"{counts['message']} packets, {counts['message, again']} sent again")
    handles = [Line2D([], [], label=kind, **look) for kind, look in _LOOKS.items()]
    handles.append(Line2D([], [], color=INK, marker="x", linestyle="", label="lost"))
    look = {"ncols": len(handles), "handlelength": 2.6, "borderpad": 0.1}
    axes.legend(handles=handles, loc="lower left", bbox_to_anchor=(0.0, 1.0), **look)
    words = ", ".join(f"{kind}: {count}" for kind, count in counts.items())
    return finish(picture, origin=delivery.origin, alt=f"Packets between sender and receiver. {words}.", note=note)


def _kind(crossing: Crossing, seen: set[int]) -> str:
    if not crossing.forth:
        return "acknowledgment"
    again = crossing.packet.number in seen
    seen.add(crossing.packet.number)
    return "message, again" if again else "message"


def _arrow(axes: Axes, crossing: Crossing, look: dict[str, Any]) -> None:
    start = 1.0 if crossing.forth else 0.0
    for arrived_s in crossing.arrived_s:
        axes.annotate(
            "", (arrived_s, 1 - start), (crossing.left_s, start), arrowprops={"arrowstyle": "->", "shrinkB": 0, **look}
        )
        axes.plot([crossing.left_s, arrived_s], [start, 1 - start], alpha=0)  # for the limits of the axes
    if not crossing.arrived_s:
        end_s = crossing.left_s + crossing.latency_s / 2
        axes.plot([crossing.left_s, end_s], [start, 0.5], **look, linewidth=1)
        axes.plot([end_s], [0.5], marker="x", color=INK)


def _number(axes: Axes, sent: list[Crossing]) -> None:
    """The packets' numbers above where they leave; of those that leave together the first and the last."""
    room_s = (axes.get_xlim()[1] - axes.get_xlim()[0]) * _NUMBER_ROOM
    together: list[list[Crossing]] = []
    for crossing in sent:
        if together and crossing.left_s - together[-1][0].left_s < room_s:
            together[-1].append(crossing)
        else:
            together.append([crossing])
    for group in together:
        ends = dict.fromkeys(str(each.packet.number) for each in (group[0], group[-1]))
        axes.text(group[0].left_s, 1.05, "–".join(ends), ha="center", va="bottom", fontsize=9, color=INK)


def draw_lives(training: KilledTraining, *, title: str = "", note: str = "") -> Picture:
    """A bar for each life that was killed: steps that a checkpoint keeps, then those that were lost.

    Raises:
        ValueError: if no life was killed.
    """
    lives = training.lives
    if not lives:
        raise ValueError("there must be a life that was killed, got none")
    panel = Bars(
        title=title or f"{len(lives)} lives, each ended by kill -9",
        origin="measured",
        wide=True,
        bars={
            f"life {number}": {
                "": life.began_at,
                "kept": life.ended_at - life.began_at,
                "lost": life.died_at - life.ended_at,
            }
            for number, life in enumerate(lives, start=1)
        },
        axis=axis("step", [life.died_at for life in lives], most=8),
        colors={"": "none", "kept": COLORS["green"], "lost": COST_COLORS["lost work"]},
        hatches={"lost": "////"},
        show="× {:g}".format,
        row_px=28.0,
    )
    lost = sum(life.died_at - life.ended_at for life in lives)
    words = (
        f"{len(lives)} lives came to steps {', '.join(str(life.died_at) for life in lives)}; {lost} steps were lost."
    )
    return picture_of([panel], alt=words, note=note or "×: the step at which it was killed")
