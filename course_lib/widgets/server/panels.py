"""The pictures of the server explorer: workers by time, staleness of gradients, loss by virtual time."""

from __future__ import annotations

from typing import Any

from course_lib.draw.histories import shares_of_staleness
from course_lib.draw.looks import FILLS
from course_lib.draw.panels import Bars, Lane, Line, Lines, Stretch, Table, Timeline, axis
from course_lib.draw.style import COLORS
from course_lib.draw.units import format_bytes, format_count, format_seconds
from course_lib.parameter_server import FULL_WEIGHT
from course_lib.parameter_server.experiments import History
from course_lib.widgets.server.model import GRADIENT_S, ServerSetting, history_at, policy_of

__all__ = ["describe_history", "pictures"]

_HIGHEST_LOSS = 100.0


def pictures(setting: ServerSetting) -> list[str | Table | Timeline | Bars | Lines]:
    """All that is shown of a setting."""
    history = history_at(setting)
    return [
        describe_history(history),
        _facts(history),
        _workers(history, setting),
        _staleness(history),
        _loss({policy_of(setting).name: history, "synchronous": _synchronous(setting)}),
    ]


def describe_history(history: History) -> str:
    """A training in words: updates, time, staleness, what was thrown away."""
    text = (
        f"{history.updates[-1]} updates in {format_seconds(history.time_s[-1])} bring the loss from "
        f"{history.loss[0]:.3g} to {history.loss[-1]:.3g}. Gradients are {history.mean_staleness:.3g} updates old on "
        f"average, {max(history.staleness, default=0)} at most."
    )
    thrown = format_count(len(history.dropped), "gradient is", "gradients are")
    return text + (f" {thrown} thrown away." if history.dropped else "")


def _synchronous(setting: ServerSetting) -> History:
    """The synchronous training on the same machines, to compare with."""
    return history_at(setting._replace(policy="synchronous", staleness_weight=FULL_WEIGHT.name))


def _facts(history: History) -> Table:
    busiest = max(map(sum, zip(history.trace.bytes_sent, history.trace.bytes_received, strict=True)))
    facts = {
        "virtual time": format_seconds(history.time_s[-1]),
        "updates": str(history.updates[-1]),
        "gradients used": str(history.gradients[-1]),
        "thrown away": str(len(history.dropped)),
        "mean staleness": f"{history.mean_staleness:.3g}",
        "loss": f"{history.loss[-1]:.3g}",
        "accuracy": f"{history.accuracy:.0%}",
        "busiest rank": format_bytes(busiest),
    }
    return Table(facts, "simulated")


def _workers(history: History, setting: ServerSetting) -> Timeline:
    """The beginning of virtual time, long enough to see each worker a few times: gradients, messages, waiting."""
    trace, servers = history.trace, setting.servers
    slowest = setting.times_slower if setting.straggler >= 0 else 1.0
    seconds = min(GRADIENT_S * max(8.0, 2.5 * slowest), trace.seconds) or 1.0
    lanes: dict[str, list[Stretch]] = {
        "waits": [Stretch(s.rank - servers, s.start_s, s.end_s) for s in trace.waits if s.rank >= servers],
        "computes a gradient": [Stretch(s.rank - servers, s.start_s, s.end_s) for s in trace.spans],
        "talks to servers": [
            Stretch(rank - servers, message.start_s, message.end_s)
            for message in trace.messages
            for rank in (message.src, message.dst)
            if rank >= servers
        ],
    }
    colors = ("quiet", FILLS["what ranks do"]["work"].color, FILLS["what ranks do"]["send"].color)
    workers = trace.world_size - servers
    return Timeline(
        title="The beginning",
        origin="simulated",
        label=f"The first {format_seconds(seconds)} of {workers} workers: {_waiting(history, servers)}",
        wide=True,
        rows=[f"worker {worker}" for worker in range(workers)],
        lanes={
            name: Lane(color, stretches, edge=False, least=0.0025 if name == "talks to servers" else 0.0005)
            for (name, stretches), color in zip(lanes.items(), colors, strict=True)
        },
        seconds=seconds,
        row_px=min(20.0, 150 / workers),
        time="virtual time",
    )


def _staleness(history: History) -> Bars:
    """The share of gradients by staleness, with a mark at the mean."""
    shares, mean = shares_of_staleness(history.staleness), history.mean_staleness
    text = ", ".join(f"{staleness}: {share:.0%}" for staleness, share in list(shares.items())[:12])
    return Bars(
        title="How old gradients are",
        origin="simulated",
        label=f"Staleness: mean {mean:.3g}. Shares {text}.",
        bars={str(age): {"share of gradients": shares.get(age, 0.0)} for age in range(max([*shares, 4]) + 1)},
        axis=axis("share of gradients", shares.values(), "%", low=0.0),
        upright=True,
        names="staleness in updates",
        colors={"share of gradients": COLORS["blue"]},
        marks={f"mean {mean:.3g}": (mean, COLORS["vermillion"])},
    )


def _loss(histories: dict[str, History]) -> Lines:
    """Loss by virtual time, logarithmic upward: this policy, and the synchronous one on the same machines."""
    losses = [loss for history in histories.values() for loss in history.loss]
    ends = "; ".join(f"{name} {h.loss[-1]:.3g} after {format_seconds(h.time_s[-1])}" for name, h in histories.items())
    y: dict[str, Any] = {"log": True, "high": _HIGHEST_LOSS} if max(losses) > _HIGHEST_LOSS else {"log": True}
    return Lines(
        title="Loss by virtual time",
        origin="simulated",
        label=f"Loss by virtual time: {ends}.",
        lines={name: Line(history.time_s, history.loss) for name, history in histories.items()},
        x=axis("virtual time", [0.0, *(history.time_s[-1] for history in histories.values())], "s"),
        y=axis("loss", losses, **y),
    )


def _waiting(history: History, servers: int) -> str:
    """Who computes most and least of the time."""
    seconds = dict.fromkeys(range(servers, history.trace.world_size), 0.0)
    for span in history.trace.spans:
        seconds[span.rank] += span.end_s - span.start_s
    busy = {rank - servers: share / (history.trace.seconds or 1) for rank, share in seconds.items()}
    most, least = max(busy, key=lambda w: busy[w]), min(busy, key=lambda w: busy[w])
    return f"worker {most} computes {busy[most]:.0%} of the time, worker {least} {busy[least]:.0%}."
