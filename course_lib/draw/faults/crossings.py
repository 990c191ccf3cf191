"""Packets between a sender and a receiver: time runs to the right, what is lost ends halfway."""

from __future__ import annotations

import math
from typing import Any

from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from course_lib.draw.style import COLORS, INK, Picture, finish, new_picture, styled
from course_lib.faults.delivery import Crossing, Delivery

__all__ = ["draw_crossings"]

_LOOKS: dict[str, dict[str, Any]] = {
    "message": {"color": COLORS["blue"]},
    "message, again": {"color": COLORS["vermillion"], "linestyle": "--"},
    "acknowledgment": {"color": COLORS["green"], "linestyle": ":"},
}


@styled
def draw_crossings(delivery: Delivery, until_s: float = math.inf, *, title: str = "", note: str = "") -> Picture:
    """Every packet that left before `until_s`, as an arrow from one end of the wire to the other.

    Raises:
        ValueError: if no packet left until then.
    """
    drawn = [crossing for crossing in delivery.crossings if crossing.left_s < until_s]
    if not drawn:
        raise ValueError(f"there must be a packet to draw before {until_s} s, got none")
    picture, axes = new_picture(7.4, 2.6)
    seen: set[int] = set()
    counts = dict.fromkeys([*_LOOKS, "lost"], 0)
    for crossing in drawn:
        kind = _kind(crossing, seen)
        counts[kind] += 1
        counts["lost"] += not crossing.arrived_s
        _arrow(axes, crossing, _LOOKS[kind])
    axes.set(yticks=[0, 1], yticklabels=["receiver", "sender"], ylim=(-0.12, 1.25), xlabel="virtual time (s)")
    axes.set_title(title or "Packets on the wire")
    handles = [Line2D([], [], label=kind, **look) for kind, look in _LOOKS.items()]
    handles.append(Line2D([], [], color=INK, marker="x", linestyle="", label="lost"))
    picture.legend(handles=handles, loc="outside right upper", handlelength=2.6)
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
    if crossing.forth:
        axes.text(crossing.left_s, 1.05, str(crossing.packet.number), ha="center", va="bottom", fontsize=8, color=INK)
