"""The pictures of the server explorer: workers by time, staleness of gradients, loss by virtual time."""

from __future__ import annotations

import math
from collections.abc import Mapping

from course_lib.draw.histories import shares_of_staleness
from course_lib.draw.style import COLORS
from course_lib.draw.units import format_seconds
from course_lib.parameter_server.experiments import History
from course_lib.widgets.html import legend
from course_lib.widgets.svg import (
    BOTTOM,
    LEFT,
    QUIET,
    RIGHT,
    TOP,
    WIDE,
    Box,
    boxes,
    chart,
    curve,
    round_ticks,
    wide_timeline,
)

__all__ = ["describe_history", "loss_panel", "staleness_panel", "workers_panel"]

_LOOKS = ((COLORS["blue"], ""), (COLORS["orange"], "7 4"))
_MOST_LOSS = 100.0  # what is above is drawn here


def describe_history(history: History) -> str:
    """A training in words: updates, time, staleness, what was thrown away."""
    text = (
        f"{history.updates[-1]} updates in {format_seconds(history.time_s[-1])} bring the loss from "
        f"{history.loss[0]:.3g} to {history.loss[-1]:.3g}. Gradients are {history.mean_staleness:.3g} updates old on "
        f"average, {max(history.staleness, default=0)} at most."
    )
    return text + (f" {len(history.dropped)} gradients are thrown away." if history.dropped else "")


def workers_panel(history: History, servers: int, shown_s: float) -> str:
    """The first `shown_s` of virtual time, a row a worker: gradients, messages with the servers, and waiting."""
    workers = history.trace.world_size - servers
    high, scale = min(26.0, 224 / workers), WIDE / shown_s
    lanes: dict[str, list[Box]] = {"waits": [], "computes a gradient": [], "talks to servers": []}

    def bar(lane: str, rank: int, start_s: float, end_s: float, least: float = 0.4) -> None:
        start_s, end_s = max(start_s, 0.0), min(end_s, shown_s)
        if rank >= servers and end_s > start_s:
            box = start_s * scale, (rank - servers) * high + 2, max((end_s - start_s) * scale, least), high - 4
            lanes[lane].append(box)

    for lane, spans in (("waits", history.trace.waits), ("computes a gradient", history.trace.spans)):
        for span in spans:
            bar(lane, span.rank, span.start_s, span.end_s)
    for message in history.trace.messages:
        for rank in (message.src, message.dst):
            bar("talks to servers", rank, message.start_s, message.end_s, 2.5)
    colors = dict(zip(lanes, (QUIET, COLORS["green"], COLORS["blue"]), strict=True))
    shapes = [boxes(where, colors[lane]) for lane, where in lanes.items()]
    label = f"The first {format_seconds(shown_s)} of {workers} workers: {_waiting(history, servers)}"
    names = [f"worker {worker}" for worker in range(workers)]
    keys = legend((lane, color, None) for lane, color in colors.items())
    return keys + wide_timeline(names, high, shown_s, shapes, [], label)


def staleness_panel(history: History) -> str:
    """The share of gradients by staleness, with a mark at the mean."""
    shares = shares_of_staleness(history.staleness)
    last = max([*shares, 4])
    wide, most = (RIGHT - LEFT) / (last + 1), max(shares.values(), default=1)

    def high(share: float) -> float:
        return share / most * (BOTTOM - TOP)

    bars = [(LEFT + s * wide + 1, BOTTOM - high(share), max(wide - 2, 1), high(share)) for s, share in shares.items()]
    mean_x = LEFT + (history.mean_staleness + 0.5) * wide
    body = [boxes(bars, COLORS["blue"]), curve([(mean_x, TOP), (mean_x, BOTTOM)], COLORS["vermillion"], "4 3")]
    every = math.ceil((last + 1) / 12)
    x_ticks = {LEFT + (s + 0.5) * wide: str(s) for s in range(0, last + 1, every)}
    y_ticks = {BOTTOM - high(share): f"{share:.0%}" for share in round_ticks(most, 4)}
    text = ", ".join(f"{s}: {share:.0%}" for s, share in list(shares.items())[:12])
    label = f"Staleness: mean {history.mean_staleness:.3g}. Shares {text}."
    keys = legend([(f"mean {history.mean_staleness:.3g}", COLORS["vermillion"], "4 3")])
    return keys + chart(body, x_ticks, "staleness in updates", y_ticks, "share of gradients", label)


def loss_panel(histories: Mapping[str, History]) -> str:
    """Loss by virtual time, logarithmic upward: this policy, and the synchronous one on the same machines."""
    losses = [loss for history in histories.values() for loss in history.loss if 0 < loss < math.inf]
    low, most = math.log(min(losses) * 0.9), math.log(min(max(losses), _MOST_LOSS) * 1.1)
    end_s = max(history.time_s[-1] for history in histories.values())

    def place(time_s: float, loss: float) -> tuple[float, float]:
        up = math.log(min(loss, _MOST_LOSS)) if 0 < loss < math.inf else most
        return LEFT + time_s / end_s * (RIGHT - LEFT), BOTTOM - min((up - low) / (most - low), 1) * (BOTTOM - TOP)

    looks = dict(zip(histories, _LOOKS, strict=False))
    body = [
        curve([place(*point) for point in zip(history.time_s, history.loss, strict=True)], *looks[name])
        for name, history in histories.items()
    ]
    ticks = [t for t in (0.1, 0.2, 0.3, 0.5, 0.7, 1, 1.5, 2, 3, 5, 10, 20, 50, 100) if low <= math.log(t) <= most]
    y_ticks = {place(0, tick)[1]: f"{tick:g}" for tick in ticks}
    x_ticks = {place(tick, 1)[0]: f"{tick:g}" for tick in round_ticks(end_s, 5)}
    ends = "; ".join(f"{name} {h.loss[-1]:.3g} after {format_seconds(h.time_s[-1])}" for name, h in histories.items())
    label = f"Loss by virtual time: {ends}."
    return legend((name, *looks[name]) for name in histories) + chart(
        body, x_ticks, "virtual time in s", y_ticks, "loss", label
    )


def _waiting(history: History, servers: int) -> str:
    """Who computes most and least of the time."""
    seconds = dict.fromkeys(range(servers, history.trace.world_size), 0.0)
    for span in history.trace.spans:
        seconds[span.rank] += span.end_s - span.start_s
    busy = {rank - servers: share / (history.trace.seconds or 1) for rank, share in seconds.items()}
    most, least = max(busy, key=lambda w: busy[w]), min(busy, key=lambda w: busy[w])
    return f"worker {most} computes {busy[most]:.0%} of the time, worker {least} {busy[least]:.0%}."
