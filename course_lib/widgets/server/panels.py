"""The pictures of the server explorer: workers by time, staleness of gradients, loss by virtual time."""

from __future__ import annotations

import math
from typing import Any

from course_lib.draw.colors import COLORS
from course_lib.draw.histories import loss_panel, shares_of_staleness, staleness_panel
from course_lib.draw.panels import Bars, Lines, Table, Timeline, axis
from course_lib.draw.timelines import timeline_panel
from course_lib.draw.units import format_count
from course_lib.parameter_server.experiments import History
from course_lib.widgets.server.model import GOAL, UNTIL_S, ServerSetting, history_at, policy_of

__all__ = ["describe_history", "pictures"]

_HIGHEST_LOSS = 100.0
_BEGINNING_S = 2.5


def pictures(setting: ServerSetting) -> list[str | Table | Timeline | Bars | Lines]:
    """All that is shown of a setting."""
    history = history_at(setting)
    synchronous = history_at(setting._replace(policy="synchronous"))  # on the same machines, to compare with
    return [
        describe_history(history),
        _facts(history),
        _workers(history),
        _staleness(history),
        _loss({policy_of(setting).name: history, "synchronous": synchronous}),
    ]


def describe_history(history: History) -> str:
    """A run in words: when it is there, how old its gradients are, what was thrown away."""
    oldest = max(history.staleness, default=0)
    if oldest:
        age = f"Gradients are {history.mean_staleness:.3g} updates old on average, {oldest} at most."
    else:
        age = "All gradients that count are fresh."
    thrown = format_count(len(history.dropped), "gradient is", "gradients are")
    return f"{_arrival(history)} {age}" + (f" {thrown} thrown away." if history.dropped else "")


def _arrival(history: History) -> str:
    seconds = history.seconds_to(GOAL)
    if seconds == math.inf:
        return f"The loss is not below {GOAL:g} within {UNTIL_S:g} seconds."
    updates = history.updates[history.time_s.index(seconds)]
    return f"The loss is below {GOAL:g} after {seconds:.1f} s and {format_count(updates, 'update', 'updates')}."


def _facts(history: History) -> Table:
    seconds = history.seconds_to(GOAL)
    facts = {
        f"loss below {GOAL:g} after": f"{seconds:.1f} s" if seconds < math.inf else f"not in {UNTIL_S:g} s",
        "gradients per second": f"{history.gradients[-1] / history.time_s[-1]:.0f}",
        "mean staleness": f"{history.mean_staleness:.3g}",
        "oldest": str(max(history.staleness, default=0)),
        "thrown away": str(len(history.dropped)),
    }
    return Table(facts, "simulated")


def _workers(history: History) -> Timeline:
    """The beginning of virtual time: gradients, messages, waiting."""
    trace = history.trace
    seconds = min(_BEGINNING_S, trace.seconds)
    workers = trace.world_size - 1
    return timeline_panel(
        trace,
        title="The beginning",
        origin="simulated",
        label=f"The first {seconds:.1f} s of {workers} workers: {_waiting(history)}",
        ranks=range(1, trace.world_size),
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
    ends = "; ".join(f"{name} {h.loss[-1]:.3g} after {h.time_s[-1]:.1f} s" for name, h in histories.items())
    y: dict[str, Any] = {"log": True, "high": _HIGHEST_LOSS} if max(losses) > _HIGHEST_LOSS else {"log": True}
    return loss_panel(
        histories,
        title="Loss by virtual time",
        label=f"Loss by virtual time: {ends}.",
        y=axis("loss", losses, **y),
        wide=False,
        height_px=134.0,
    )


def _waiting(history: History) -> str:
    """Who computes most and least of the time."""
    seconds = dict.fromkeys(range(1, history.trace.world_size), 0.0)
    for span in history.trace.spans:
        seconds[span.rank] += span.end_s - span.start_s
    busy = {rank - 1: share / (history.trace.seconds or 1) for rank, share in seconds.items()}
    most, least = max(busy, key=lambda w: busy[w]), min(busy, key=lambda w: busy[w])
    return f"worker {most} computes {busy[most]:.0%} of the time, worker {least} {busy[least]:.0%}."
