"""The server explorer: what a policy does to waiting, to staleness and to the loss, on machines of your choice."""

from __future__ import annotations

from typing import ClassVar

from course_lib.widgets.controls import explain, menu, number, scale
from course_lib.widgets.explorer import Explorer
from course_lib.widgets.server.model import MACHINES, POLICIES, USED_BY, ServerSetting
from course_lib.widgets.server.panels import pictures

__all__ = ["ServerExplorer"]

_MAX_BACKUPS = 4
_RATES = [0.5, 1.0, 2.0, 4.0, 8.0, 16.0]


class ServerExplorer(Explorer):
    """The lecture's parameter server to take apart: timeline of the workers, staleness of gradients, loss by virtual
    time, and the second at which the loss is below the goal.

    Every position of the controls is a run of its own, simulated: real gradients on digits, virtual time.

    Args:
        policy, machines, rate, workers, backup, n, slack: where the controls stand at first. `policy` is a key of
            POLICIES, `machines` one of MACHINES.
    """

    moves: ClassVar = {"policy": None, "machines": None, "rate": None, "backup": [1, 2, 3], "slack": [2, 8]}

    def __init__(
        self,
        *,
        policy: str = "asynchronous",
        machines: str = "all stall at times",
        rate: float = 8.0,
        workers: int = 8,
        backup: int = 1,
        n: int = 2,
        slack: int = 2,
    ) -> None:
        super().__init__(
            lambda **values: pictures(ServerSetting(**values)),
            policy=menu("policy", list(POLICIES), policy),
            machines=menu("machines", list(MACHINES), machines),
            rate=scale("rate", _RATES, rate, lambda x: f"{x:g}"),
            workers=number("workers", 2, 8, workers),
            backup=number("backups", 0, _MAX_BACKUPS, backup),
            n=number("n", 1, 8, n),
            slack=number("slack", 0, 8, slack),
        )

    def prepare(self) -> None:
        """Only what the policy uses can be moved, and only as far as there are workers."""
        controls, workers = self.controls, self.controls["workers"].value
        for name, policy in USED_BY.items():
            explain(controls[name], controls["policy"].value != policy, f"only with the policy {policy}")
        controls["n"].max, controls["backup"].max = workers, min(workers - 1, _MAX_BACKUPS)
