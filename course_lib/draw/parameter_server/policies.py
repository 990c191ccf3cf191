"""Policies of a parameter server side by side: their loss, their staleness, their timelines, their place on the map."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter

from course_lib.draw.histories import losses_on, staleness_on, x_label_of
from course_lib.draw.style import (
    COLORS,
    INK,
    MUTED,
    PAGE_IN,
    Picture,
    finish,
    looks_of,
    new_picture,
    origins_of,
    styled,
)
from course_lib.draw.timelines import timeline_legend, timeline_on
from course_lib.draw.units import format_bytes, format_count

__all__ = ["draw_beginnings", "draw_corners", "draw_server_load", "draw_staleness_grid", "draw_time_and_updates"]


@styled
def draw_time_and_updates(histories: Mapping[str, Any], *, title: str, note: str = "") -> Picture:
    """The same trainings twice: loss by virtual time and loss by updates, on one scale; a dot where each line ends.

    Args:
        histories: by name, anything with rows `time_s`, `updates` and `loss`.
    """
    picture, panels = new_picture(PAGE_IN, 3.9, 1, 2, sharey=True)
    styles = looks_of(histories)
    for axes, x in zip(panels, ("time_s", "updates"), strict=True):
        losses_on(axes, histories, x)
        for number, (name, history) in enumerate(histories.items()):  # smaller and smaller: no dot hides another
            size = 11 - 1.5 * number
            axes.plot(getattr(history, x)[-1], history.loss[-1], "o", markersize=size, color=styles[name].color)
    panels[0].set_title(f"{title}: by time")
    panels[1].set(title="... and by updates", ylabel="")
    handles, names = panels[0].get_legend_handles_labels()
    picture.legend(handles, names, loc="outside upper left", ncols=3, handlelength=2.6, columnspacing=1.2)
    ends = "; ".join(
        f"{name} ends at {history.loss[-1]:.3g} after {history.updates[-1]} updates in {history.time_s[-1]:.2f} s"
        for name, history in histories.items()
    )
    origin = origins_of(histories.values())
    return finish(picture, origin=origin, alt=f"{title}, loss by time and by updates: {ends}.", note=note)


@styled
def draw_staleness_grid(columns: Mapping[str, Mapping[str, Any]], *, note: str = "") -> Picture:
    """The share of gradients by staleness: a column for each situation, a row for each policy, one scale.

    Args:
        columns: situation -> policy -> anything with a row `staleness`; the same policies everywhere.
    """
    names = list(next(iter(columns.values())))
    shared = {"sharex": True, "sharey": True, "squeeze": False}
    picture, grid = new_picture(PAGE_IN, 0.6 + 1.55 * len(names), len(names), len(columns), **shared)
    words = []
    for row, name in zip(grid, names, strict=True):
        for axes, (situation, histories) in zip(row, columns.items(), strict=True):
            ages = histories[name].staleness
            staleness_on(axes, ages)
            found = f"mean {sum(ages) / len(ages):.1f}, at most {max(ages)}"
            axes.set_title(f"{name}, {situation}\n{found}", fontsize=9)
            words.append(f"{name}, {situation}: {found}")
            axes.set_yscale("log")
            axes.yaxis.set_major_formatter(FuncFormatter(lambda share, _: f"{100 * share:g}%"))
            axes.label_outer()
    for axes in grid[-1]:
        axes.set_xlabel("staleness (updates)")
    origin = origins_of(history for histories in columns.values() for history in histories.values())
    return finish(picture, origin=origin, alt=f"Staleness by policy. {'; '.join(words)}.", note=note)


@styled
def draw_beginnings(histories: Mapping[str, Any], *, until_s: float, slow: int = 0, note: str = "") -> Picture:
    """The first seconds of trainings with one server, one timeline below the other; worker `slow` is marked.

    Args:
        histories: by name, anything with a `trace`, and a `busy_share` of the workers.
    """
    picture, grid = new_picture(7.4, 0.6 + 2.2 * len(histories), len(histories), 1, sharex=True, squeeze=False)
    words = []
    for axes, (name, history) in zip(grid[:, 0], histories.items(), strict=True):
        timeline_on(axes, history.trace)
        axes.set_xlim(0, until_s)
        workers = [f"worker {number}" for number in range(history.trace.world_size - 1)]
        workers[slow] += ", slow"
        axes.set_yticks(axes.get_yticks(), ["server", *workers])
        axes.set(xlabel="", ylabel="")
        words.append(f"{name}: workers compute {history.busy_share:.0%} of the time")
        axes.set_title(words[-1], fontsize=10)
    grid[-1, 0].set_xlabel(x_label_of(histories, "time_s"))
    keys = timeline_legend(next(iter(histories.values())).trace)
    picture.legend(handles=keys, loc="outside upper right", ncols=4, columnspacing=1.2, handlelength=1.2)
    return finish(picture, origin=origins_of(histories.values()), alt=f"{'; '.join(words)}.", note=note)


@styled
def draw_server_load(
    loads: Mapping[int, Sequence[float]], servers: Sequence[int], worker_bytes: float, *, origin: str = "simulated"
) -> Picture:
    """The busiest server's load by the number of servers, one line a number of workers; dashed: a worker's own load.

    Args:
        loads: workers -> bytes of the busiest server for each entry of `servers`.
    """
    picture, axes = new_picture(7.4, 3.6)
    looks = zip(itertools.cycle("os^Dv"), itertools.cycle(("blue", "vermillion", "green", "purple")))
    for (workers, row), (marker, color) in zip(loads.items(), looks, strict=False):
        axes.plot(servers, [load / 1e6 for load in row], marker=marker, color=COLORS[color], label=f"{workers} workers")
    axes.axhline(worker_bytes / 1e6, color=INK, linestyle="--", label="one worker")
    axes.set(xscale="log", yscale="log", xlabel="servers", ylabel="MB a round, each way")
    highest_mb = max(max(row) for row in loads.values()) / 1e6
    powers = [4.0**power for power in range(-10, 11) if 4.0**power <= 1.5 * max(highest_mb, worker_bytes / 1e6)]
    for axis, ticks in ((axes.xaxis, servers), (axes.yaxis, powers)):
        low, high = axis.get_view_interval()
        axis.set_ticks(shown := [tick for tick in ticks if low <= tick <= high], [f"{tick:g}" for tick in shown])
        axis.set_ticks([], minor=True)
    axes.set_title("Load of the busiest server")
    picture.legend(loc="outside right upper")
    words = "; ".join(_describe_load(workers, servers, row) for workers, row in loads.items())
    words += f"; dashed: a worker's own {format_bytes(worker_bytes)}."
    return finish(picture, origin=origin, alt=words, note=f"{format_bytes(worker_bytes)} of parameters")


def _describe_load(workers: int, servers: Sequence[int], row: Sequence[float]) -> str:
    """One line in words: both ends, and the law if the loads keep it."""
    low, high = format_bytes(row[0]), format_bytes(row[-1])
    text = f"{workers} workers: the busiest server has {low} with {format_count(servers[0], 'server')}"
    if len(row) == 1:
        return text
    work = [count * load for count, load in zip(servers, row, strict=True)]
    falls = max(work) <= 1.05 * min(work)
    return f"{text}, {high} with {servers[-1]}" + ", falling as 1 / servers" * falls


@styled
def draw_corners(pairs: Sequence[tuple[Any, Any]], *, note: str = "") -> Picture:
    """Chapter 00's map with numbers: in each corner the time of a round with equal workers and with one slow one.

    Args:
        pairs: for each corner a `Corner` with equal workers and one with a slow worker, in any order.
    """
    rows, columns = ("centralized", "decentralized"), ("synchronous", "asynchronous")
    picture, grid = new_picture(PAGE_IN, 4.8, 2, 2, sharex=True)
    words = []
    for even, slow in pairs:
        axes = grid[rows.index(even.place), columns.index(even.time)]
        _corner_on(axes, even, slow)
        seconds = f"a round takes {even.seconds_per_round:.2f} s, with one slow worker {slow.seconds_per_round:.2f} s"
        words.append(f"{even.place} and {even.time}: {seconds}")
    origin = origins_of(corner for pair in pairs for corner in pair)
    longest_s = max(corner.seconds_per_round for pair in pairs for corner in pair)
    for axes in grid[-1]:
        axes.set(xlabel="a round takes (s)", xlim=(0, 1.2 * longest_s))
    return finish(picture, origin=origin, alt=f"{'; '.join(words)}.", note=note)


def _corner_on(axes: Axes, even: Any, slow: Any) -> None:
    """Two bars, and below them the load, the staleness and the loss."""
    seconds = [even.seconds_per_round, slow.seconds_per_round]
    bars = axes.barh([1, 0], seconds, height=0.62, color=[COLORS["blue"], COLORS["vermillion"]])
    axes.bar_label(bars, [f"{value:.2f} s" for value in seconds], padding=4, fontsize=9)
    axes.set_yticks([1, 0], ["all equal", "one 4× slower"])
    name = "server" if even.name == even.time else even.name
    axes.set(ylim=(-1.5, 1.5), title=f"{even.place}, {even.time}:\n{name}")
    facts = (
        f"busiest rank {format_bytes(round(even.busiest_bytes, -2))} · staleness {even.staleness:.1f}",
        f"loss {even.loss:.2f}, one slow {slow.loss:.2f}",
    )
    for line, text in enumerate(facts):
        axes.text(0.01, 0.26 - 0.15 * line, text, fontsize=9, color=MUTED, va="center", transform=axes.transAxes)
