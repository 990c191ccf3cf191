"""Policies of a parameter server side by side: their loss, their staleness, their timelines, their place on the map."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from course_lib.draw.colors import COLORS, INK
from course_lib.draw.histories import loss_panel, mean_of, shares_of_staleness, staleness_panel, x_label_of
from course_lib.draw.lines import PAGE_PX, Axis, scaled
from course_lib.draw.panels import Bars, Line, Lines, axis
from course_lib.draw.panels.picture import picture_of
from course_lib.draw.style import Picture, origins_of
from course_lib.draw.timelines import timeline_panel
from course_lib.draw.units import format_bytes, format_count

__all__ = ["draw_beginnings", "draw_corners", "draw_server_load", "draw_staleness_grid", "draw_time_and_updates"]


def draw_time_and_updates(histories: Mapping[str, Any], *, title: str, note: str = "") -> Picture:
    """The same trainings twice: loss by virtual time and loss by updates, on one scale; a dot where each line ends.

    Args:
        histories: by name, anything with rows `time_s`, `updates` and `loss`.
    """
    look: dict[str, Any] = {"dots": True, "wide": False, "height_px": 240.0}
    panels = [
        loss_panel(histories, "time_s", title=f"{title}: by time", **look),
        loss_panel(histories, "updates", title="... and by updates", **look),
    ]
    ends = "; ".join(
        f"{name} ends at {history.loss[-1]:.3g} after {history.updates[-1]} updates in {history.time_s[-1]:.2f} s"
        for name, history in histories.items()
    )
    return picture_of(panels, alt=f"{title}, loss by time and by updates: {ends}.", note=note, shared=True)


def draw_staleness_grid(columns: Mapping[str, Mapping[str, Any]], *, note: str = "") -> Picture:
    """The share of gradients by staleness: a column for each situation, a row for each policy, one scale.

    Args:
        columns: situation -> policy -> anything with a row `staleness`; the same policies everywhere.
    """
    everyone = [history for histories in columns.values() for history in histories.values()]
    shares = [share for history in everyone for share in shares_of_staleness(history.staleness).values()]
    scale = axis("share", shares, log=True, low=0.7 * min(shares), high=1.0, most=4, show=_percent)
    look: dict[str, Any] = {
        "axis": scale,
        "height_px": 80.0,
        "oldest": max(max(history.staleness) for history in everyone),
    }
    panels, words = [], []
    for name in next(iter(columns.values())):
        for situation, histories in columns.items():
            ages = histories[name].staleness
            found = f"mean {mean_of(ages):.1f}, at most {max(ages)}"
            title, origin = f"{name}, {situation}", origins_of([histories[name]])
            panels.append(staleness_panel(ages, title=f"{title}\n{found}", origin=origin, **look))
            words.append(f"{title}: {found}")
    return picture_of(
        panels, alt=f"Staleness by policy. {'; '.join(words)}.", note=note, columns=len(columns), shared=True
    )


def _percent(share: float) -> str:
    return f"{100 * share:g}%"


def draw_beginnings(histories: Mapping[str, Any], *, until_s: float, slow: int = 0, note: str = "") -> Picture:
    """The first seconds of trainings with one server, one timeline below the other; worker `slow` is marked.

    Args:
        histories: by name, anything with a `trace`, and a `busy_share` of the workers.
    """
    panels, words = [], []
    for name, history in histories.items():
        words.append(f"{name}: workers compute {history.busy_share:.0%} of the time")
        workers = [f"worker {number}" for number in range(history.trace.world_size - 1)]
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


def draw_server_load(
    loads: Mapping[int, Sequence[float]], servers: Sequence[int], worker_bytes: float, *, origin: str = "simulated"
) -> Picture:
    """The busiest server's load by the number of servers, one line a number of workers; dashed: a worker's own load.

    Args:
        loads: workers -> bytes of the busiest server for each entry of `servers`.
    """
    lines = {f"{workers} workers": Line(servers, row, drawn="line and dots") for workers, row in loads.items()}
    lines["one worker"] = Line([min(servers), max(servers)], [worker_bytes] * 2, INK, (8, 4))
    every_load = [worker_bytes, *(load for row in loads.values() for load in row)]
    panel = Lines(
        title="Load of the busiest server",
        origin=origin,
        wide=True,
        lines=lines,
        x=scaled(Axis("servers", log=True, ticks=servers), servers),
        y=scaled(Axis("a round, each way", format_bytes, log=True), every_load),
        height_px=PAGE_PX,
        grid="y",
    )
    words = "; ".join(_describe_load(workers, servers, row) for workers, row in loads.items())
    words += f"; dashed: a worker's own {format_bytes(worker_bytes)}."
    return picture_of([panel], alt=words, note=f"{format_bytes(worker_bytes)} of parameters")


def _describe_load(workers: int, servers: Sequence[int], row: Sequence[float]) -> str:
    """One line in words: both ends, and the law if the loads keep it."""
    low, high = format_bytes(row[0]), format_bytes(row[-1])
    text = f"{workers} workers: the busiest server has {low} with {format_count(servers[0], 'server')}"
    if len(row) == 1:
        return text
    work = [count * load for count, load in zip(servers, row, strict=True)]
    falls = max(work) <= 1.05 * min(work)
    return f"{text}, {high} with {servers[-1]}" + ", falling as 1 / servers" * falls


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
    return picture_of(panels, alt=f"{'; '.join(words)}.", note=note)


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
