"""The server explorer: what a policy does to waiting, to staleness and to the loss, on machines of your choice."""

from __future__ import annotations

from typing import ClassVar

from course_lib.widgets.controls import explain, menu, number, offer, scale
from course_lib.widgets.explorer import Explorer
from course_lib.widgets.server.model import POLICIES, USED_BY, WEIGHTS, ServerSetting
from course_lib.widgets.server.panels import pictures

__all__ = ["ServerExplorer"]

_MAX_BACKUPS = 4
_STRAGGLERS = {"nobody": -1, "worker 0": 0, "workers 0 and 1": 1, "workers 0 to 2": 2}


class ServerExplorer(Explorer):
    """A parameter server to take apart: timeline of the workers, staleness of gradients, loss by virtual time.

    Every position of the controls is a training of its own, simulated: real gradients on digits, virtual time.

    Args:
        policy, workers, servers, backup, n, slack, spread, straggler, times_slower, rate, staleness_weight: where the
            controls stand at first. `policy` is a key of POLICIES, `staleness_weight` one of WEIGHTS, `straggler` the
            last of the slow workers, which begin with worker 0, or -1 (nobody).
    """

    moves: ClassVar = {"policy": None, "workers": [3, 6, 12], "straggler": None, "rate": [0.1, 0.2, 0.5, 1.0, 2.0]}

    def __init__(
        self,
        *,
        policy: str = "asynchronous",
        workers: int = 6,
        servers: int = 1,
        backup: int = 1,
        n: int = 2,
        slack: int = 2,
        spread: float = 0.1,
        straggler: int = 0,
        times_slower: float = 3,
        rate: float = 0.2,
        staleness_weight: str = "none",
    ) -> None:
        super().__init__(
            lambda **values: pictures(ServerSetting(**values)),
            policy=menu("policy", list(POLICIES), policy),
            workers=number("workers", 2, 16, workers),
            servers=menu("servers", [1, 2, 4], servers),
            backup=number("backups", 0, _MAX_BACKUPS, backup),
            n=number("n", 1, 16, n),
            slack=number("slack", 0, 8, slack),
            spread=scale("speeds vary", [0.0, 0.05, 0.1, 0.2, 0.5], spread, lambda x: f"{x:.0%}"),
            straggler=menu("stragglers", _STRAGGLERS, straggler),
            times_slower=scale("slower by", [1.5, 2, 3, 5, 10], times_slower, lambda x: f"{x:g}×"),
            rate=scale("rate", [0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0], rate, lambda x: f"{x:g}"),
            staleness_weight=menu("stale gradients", list(WEIGHTS), staleness_weight),
        )

    def prepare(self) -> None:
        """Only what the policy and the machines use can be moved, and only as far as there are workers."""
        controls, workers = self.controls, self.controls["workers"].value
        for name, policy in USED_BY.items():
            explain(controls[name], controls["policy"].value != policy, f"only with the policy {policy}")
        offer(controls["straggler"], {name: last for name, last in _STRAGGLERS.items() if last < workers})
        explain(controls["times_slower"], controls["straggler"].value < 0, "only where there are stragglers")
        controls["n"].max, controls["backup"].max = workers, min(workers - 1, _MAX_BACKUPS)
