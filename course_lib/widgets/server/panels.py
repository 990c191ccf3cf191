"""The pictures of the server explorer: workers by time, staleness of gradients, loss by virtual time."""

from __future__ import annotations

from typing import Any

from course_lib.draw.colors import COLORS
from course_lib.draw.histories import loss_panel, shares_of_staleness, staleness_panel
from course_lib.draw.panels import Bars, Lines, Table, Timeline, axis
from course_lib.draw.timelines import timeline_panel
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
    workers = trace.world_size - servers
    return timeline_panel(
        trace,
        title="The beginning",
        origin="simulated",
        label=f"The first {format_seconds(seconds)} of {workers} workers: {_waiting(history, servers)}",
        ranks=range(servers, trace.world_size),
        names=[f"worker {worker}" for worker in range(workers)],
        until_s=seconds,
        high_px=150.0,
        time="virtual time",
    )


def _staleness(history: History) -> Bars:
    """The share of gradients by staleness, with a mark at the mean."""
    shares, mean = shares_of_staleness(history.staleness), history.mean_staleness
    text = ", ".join(f"{staleness}: {share:.0%}" for staleness, share in list(shares.items())[:12])
    return staleness_panel(
        history.staleness,
        title="How old gradients are",
        origin="simulated",
        label=f"Staleness: mean {mean:.3g}. Shares {text}.",
        oldest=4,
        marks={f"mean {mean:.3g}": (mean, COLORS["vermillion"])},
    )


def _loss(histories: dict[str, History]) -> Lines:
    """Loss by virtual time, logarithmic upward: this policy, and the synchronous one on the same machines."""
    losses = [loss for history in histories.values() for loss in history.loss]
    ends = "; ".join(f"{name} {h.loss[-1]:.3g} after {format_seconds(h.time_s[-1])}" for name, h in histories.items())
    y: dict[str, Any] = {"log": True, "high": _HIGHEST_LOSS} if max(losses) > _HIGHEST_LOSS else {"log": True}
    return loss_panel(
        histories,
        title="Loss by virtual time",
        label=f"Loss by virtual time: {ends}.",
        y=axis("loss", losses, **y),
        wide=False,
        height_px=134.0,
    )


def _waiting(history: History, servers: int) -> str:
    """Who computes most and least of the time."""
    seconds = dict.fromkeys(range(servers, history.trace.world_size), 0.0)
    for span in history.trace.spans:
        seconds[span.rank] += span.end_s - span.start_s
    busy = {rank - servers: share / (history.trace.seconds or 1) for rank, share in seconds.items()}
    most, least = max(busy, key=lambda w: busy[w]), min(busy, key=lambda w: busy[w])
    return f"worker {most} computes {busy[most]:.0%} of the time, worker {least} {busy[least]:.0%}."
