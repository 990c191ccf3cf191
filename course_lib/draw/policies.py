"""Policies of a parameter server side by side: their loss, their staleness, their timelines, their place on the map."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from course_lib.draw.colors import COLORS
from course_lib.draw.goal import goal_bars, goal_color
from course_lib.draw.histories import x_label_of
from course_lib.draw.panels import Bars, axis
from course_lib.draw.panels.picture import picture_of
from course_lib.draw.style import Picture, origins_of
from course_lib.draw.timelines import timeline_panel
from course_lib.draw.units import format_bytes, format_range

__all__ = [
    "draw_beginnings",
    "draw_corners",
    "draw_times_to_loss",
]


def draw_times_to_loss(
    needed: Mapping[str, tuple[float, int]],
    *,
    goal: float,
    most: float = 13.0,
    origin: str = "simulated",
    title: str = "",
) -> Picture:
    """A bar for each policy: the virtual seconds that it needs to a loss, its name with its oldest gradient, the goal.

    Green reaches the goal with fresh gradients, blue is fresh and takes longer, and gray uses old ones; vermillion is
    never there. The axis always ends at `most`, so that pictures with more bars can be compared.

    Args:
        needed: name -> (seconds, updates that the oldest gradient was old); infinite seconds are never.

    Raises:
        ValueError: if there is no bar.

    >>> draw_times_to_loss({"synchronous": (11.68, 0), "asynchronous": (math.inf, 67)}, goal=4.5).alt
    'Seconds to the loss, goal 4.5: synchronous (fresh): 11.7; asynchronous (67 old): not in 13. (simulated)'
    """
    bars: dict[str, float] = {}
    colors: dict[str, str] = {}
    for name, (seconds, oldest) in needed.items():
        said = f"{seconds:.1f}" if seconds < math.inf else f"not in {most:g}"
        label = f"{name} ({f'{oldest} old' if oldest else 'fresh'}): {said}"
        bars[label] = min(seconds, most)
        colors[label] = "quiet" if oldest else goal_color(seconds <= goal)
        if seconds == math.inf:
            colors[label] = COLORS["vermillion"]
    panel = goal_bars(
        bars,
        "a policy",
        along=axis("virtual seconds until the loss is below 0.2", [most], most=9),
        limit=(f"goal: {goal:.1f}", goal),
        colors=colors,
        show=lambda _: "",  # a number behind its bar would lie on the line of the goal
        title=title or "Seconds that each policy needs",
        origin=origin,
    )
    return picture_of([panel], alt=f"Seconds to the loss, goal {goal:.1f}: {'; '.join(bars)}.")


def draw_beginnings(
    histories: Mapping[str, Any], *, until_s: float, slow: int | None = None, note: str = ""
) -> Picture:
    """The first seconds of trainings with one server, one timeline below the other; a worker that is `slow` is marked.

    Args:
        histories: by name, anything with a `trace`, and a `busy_share` of the workers.
    """
    panels, words = [], []
    for name, history in histories.items():
        words.append(f"{name}: workers compute {history.busy_share:.0%} of the time")
        workers = [f"worker {number}" for number in range(history.trace.world_size - 1)]
        if slow is not None:
            workers[slow] += ", slow"
        time = x_label_of(histories, "time_s").removesuffix(" (s)")
        look: dict[str, Any] = {
            "names": ["server", *workers],
            "until_s": until_s,
            "time": time,
            "high_px": 20.0 * (len(workers) + 1),
        }
        panels.append(timeline_panel(history.trace, title=words[-1], origin=origins_of([history]), **look))
    return picture_of(panels, alt=f"{'; '.join(words)}.", note=note, shared=True)


def draw_corners(pairs: Sequence[tuple[Any, Any]], *, note: str = "") -> Picture:
    """Chapter 00's map with numbers: in each corner the time of a round with equal workers and with one slow one.

    Args:
        pairs: for each corner a `Corner` with equal workers and one with a slow worker, in any order.
    """
    places = [(place, time) for place in ("centralized", "decentralized") for time in ("synchronous", "asynchronous")]
    longest_s = max(corner.seconds_per_round for pair in pairs for corner in pair)
    words = [
        f"{even.place} and {even.time}: a round takes {even.seconds_per_round:.2f} s, with one slow worker "
        f"{slow.seconds_per_round:.2f} s"
        for even, slow in pairs
    ]
    in_order = sorted(pairs, key=lambda pair: places.index((pair[0].place, pair[0].time)))
    panels = [_corner(even, slow, longest_s) for even, slow in in_order]
    return picture_of(panels, alt=f"{'; '.join(words)}.", note=note, title=_cost_of_one(pairs))


def _cost_of_one(pairs: Sequence[tuple[Any, Any]]) -> str:
    """How much longer a round takes with a slow worker, for who waits and who does not."""
    found = []
    for time in dict.fromkeys(even.time for even, _ in pairs):
        ratios = [slow.seconds_per_round / even.seconds_per_round for even, slow in pairs if even.time == time]
        found.append(f"{time} rounds × {format_range(ratios, '{:.1f}'.format)}")
    return f"One slow worker: {', '.join(found)}"


def _corner(even: Any, slow: Any, longest_s: float) -> Bars:
    """Two bars, and below them the load, the staleness and the loss."""
    name = "server" if even.name == even.time else even.name
    rows = {"all equal": even, "one 4× slower": slow}
    return Bars(
        title=f"{even.place}, {even.time}:\n{name}",
        origin=origins_of([even, slow]),
        bars={row: {row: corner.seconds_per_round} for row, corner in rows.items()},
        axis=axis("a round takes (s)", [longest_s], show="{:g}".format),
        colors={"all equal": COLORS["blue"], "one 4× slower": COLORS["vermillion"]},
        show="{:.2f} s".format,
        row_px=34.0,
        facts=[
            f"busiest rank {format_bytes(round(even.busiest_bytes, -2))} · staleness {even.staleness:.1f}",
            f"loss {even.loss:.2f}, one slow {slow.loss:.2f}",
        ],
    )
