"""The pictures of the server explorer: workers by time, staleness of gradients, loss by virtual time."""

from __future__ import annotations

import math
from collections.abc import Mapping

from course_lib.draw.histories import shares_of_staleness
from course_lib.draw.style import COLORS
from course_lib.draw.units import format_seconds
from course_lib.parameter_server import History
from course_lib.widgets.svg import FAINT, INK, Box, boxes, curve, round_step, svg, words

__all__ = ["describe_history", "loss_panel", "staleness_panel", "workers_panel"]

_WIDE, _LEFT = 900.0, 92.0
_SMALL, _HIGH, _EDGE = 430.0, 180.0, 46.0
_QUIET = "rgba(128,128,128,0.22)"
_LOOKS = ((COLORS["blue"], ""), (COLORS["orange"], "7 4"))


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
    high, scale = min(26.0, 200 / workers), (_WIDE - _LEFT - 10) / shown_s
    lanes: dict[str, list[Box]] = {"wait": [], "gradient": [], "message": []}

    def bar(lane: str, rank: int, start_s: float, end_s: float) -> None:
        start_s, end_s = max(start_s, 0.0), min(end_s, shown_s)
        if rank >= servers and end_s > start_s:
            y = (rank - servers) * high + 2
            lanes[lane].append((_LEFT + start_s * scale, y, max((end_s - start_s) * scale, 0.4), high - 4))

    for span in history.trace.waits:
        bar("wait", span.rank, span.start_s, span.end_s)
    for span in history.trace.spans:
        bar("gradient", span.rank, span.start_s, span.end_s)
    for message in history.trace.messages:
        for rank in (message.src, message.dst):
            bar("message", rank, message.start_s, message.end_s)
    edge = "var(--jp-layout-color0,#ffffff)"
    body = [boxes(lanes["wait"], _QUIET), boxes(lanes["gradient"], COLORS["green"], edge)]
    body.append(boxes(lanes["message"], COLORS["blue"]))
    body += [words(_LEFT - 8, (w + 0.5) * high, f"worker {w}", anchor="end", color=FAINT) for w in range(workers)]
    body += _ticks(shown_s, workers * high + 10, scale)
    legend = ((COLORS["green"], "computes a gradient"), (COLORS["blue"], "talks to servers"), (_QUIET, "waits"))
    for place, (color, text) in enumerate(legend):
        x, y = _LEFT + 160 * place, workers * high + 26
        body += [boxes([(x, y, 10, 10)], color), words(x + 14, y + 5, text, anchor="start", color=INK)]
    label = f"The first {format_seconds(shown_s)} of {workers} workers: {_waiting(history, servers)}"
    return svg(_WIDE, workers * high + 42, body, label)


def staleness_panel(history: History) -> str:
    """The share of gradients by staleness, with a mark at the mean."""
    shares = shares_of_staleness(history.staleness)
    last = max([*shares, 4])
    wide, most = (_SMALL - _EDGE - 10) / (last + 1), max(shares.values(), default=1)

    def high(share: float) -> float:
        return share / most * (_HIGH - 20)

    bars = [(_EDGE + s * wide + 1, _HIGH - high(share), max(wide - 2, 1), high(share)) for s, share in shares.items()]
    mean_x = _EDGE + (history.mean_staleness + 0.5) * wide
    body = [boxes(bars, COLORS["blue"]), curve([(mean_x, 6), (mean_x, _HIGH)], COLORS["vermillion"], "4 3", 1.5)]
    body.append(words(min(mean_x + 5, _SMALL - 70), 10, f"mean {history.mean_staleness:.3g}", anchor="start"))
    every = max(1, math.ceil((last + 1) / 12))
    body += [words(_EDGE + (s + 0.5) * wide, _HIGH + 12, str(s), color=FAINT) for s in range(0, last + 1, every)]
    body += [
        words(_EDGE - 6, _HIGH - high(x * most), f"{x * most:.0%}", anchor="end", color=FAINT) for x in (0, 0.5, 1)
    ]
    body.append(words(_SMALL / 2, _HIGH + 28, "staleness in updates; up: share of gradients", color=FAINT))
    text = ", ".join(f"{s}: {share:.0%}" for s, share in list(shares.items())[:12])
    return svg(_SMALL, _HIGH + 36, body, f"Staleness: mean {history.mean_staleness:.3g}. Shares {text}.")


def loss_panel(histories: Mapping[str, History]) -> str:
    """Loss by virtual time, logarithmic upward: this policy, and the synchronous one on the same machines."""
    losses = [loss for history in histories.values() for loss in history.loss if math.isfinite(loss)]
    low, most = math.log(min(losses) * 0.9), math.log(min(max(losses), 100) * 1.1)
    end_s = max(history.time_s[-1] for history in histories.values())

    def place(time_s: float, loss: float) -> tuple[float, float]:
        up = (math.log(min(loss, 100)) if math.isfinite(loss) and loss > 0 else most) - low
        return _EDGE + time_s / end_s * (_SMALL - _EDGE - 14), _HIGH - min(up / (most - low), 1) * (_HIGH - 12)

    body = []
    for line, ((name, history), (color, dash)) in enumerate(zip(histories.items(), _LOOKS, strict=False)):
        body.append(curve([place(*p) for p in zip(history.time_s, history.loss, strict=True)], color, dash))
        body.append(curve([(_SMALL - 190, 12 + 18 * line), (_SMALL - 166, 12 + 18 * line)], color, dash))
        body.append(words(_SMALL - 160, 12 + 18 * line, name, anchor="start"))
    ticks = [t for t in (0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100) if low <= math.log(t) <= most]
    body += [words(_EDGE - 6, place(0, t)[1], f"{t:g}", anchor="end", color=FAINT) for t in ticks]
    step = round_step(end_s / 4)
    body += [
        words(place(i * step, 1)[0], _HIGH + 12, f"{i * step:g}", color=FAINT) for i in range(int(end_s / step) + 1)
    ]
    body.append(words(_SMALL / 2, _HIGH + 28, "virtual time in s; up: loss", color=FAINT))
    ends = "; ".join(f"{name} {h.loss[-1]:.3g} after {format_seconds(h.time_s[-1])}" for name, h in histories.items())
    return svg(_SMALL, _HIGH + 36, body, f"Loss by virtual time: {ends}.")


def _waiting(history: History, servers: int) -> str:
    """Who computes most and least of the time."""
    seconds = dict.fromkeys(range(servers, history.trace.world_size), 0.0)
    for span in history.trace.spans:
        seconds[span.rank] += span.end_s - span.start_s
    busy = {rank - servers: share / (history.trace.seconds or 1) for rank, share in seconds.items()}
    most, least = max(busy, key=lambda w: busy[w]), min(busy, key=lambda w: busy[w])
    return f"worker {most} computes {busy[most]:.0%} of the time, worker {least} {busy[least]:.0%}."


def _ticks(seconds: float, y: float, scale: float) -> list[str]:
    step = round_step(seconds / 6)
    marks = [words(_LEFT + i * step * scale, y, f"{i * step:g}", color=FAINT) for i in range(int(seconds / step) + 1)]
    return [*marks, words(_LEFT - 16, y, "virtual s", anchor="end", color=FAINT)]
