"""The server explorer: what a policy does to waiting, to staleness and to the loss, on machines of your choice."""

from __future__ import annotations

from functools import partial
from typing import Any

from course_lib.draw.histories import losses_on, staleness_on
from course_lib.draw.style import PAGE_IN, Picture, finish, new_picture, styled
from course_lib.draw.timelines import timeline_legend, timeline_on
from course_lib.draw.units import format_bytes, format_seconds
from course_lib.parameter_server.experiments import History
from course_lib.widgets.controls import menu, number, offer, scale
from course_lib.widgets.explorer import Explorer, Panel, on_setting
from course_lib.widgets.html import numbers_html
from course_lib.widgets.server.model import GRADIENT_S, POLICIES, REMEDIES, ServerSetting, history_of, policy_of
from course_lib.widgets.server.panels import describe_history, loss_panel, staleness_panel, workers_panel

__all__ = ["ServerExplorer"]

_USED_BY = {"backup": "with backup workers", "n": "n-softsync", "slack": "bounded delay"}
_MOST_BACKUPS = 4
_STRAGGLERS = {"nobody": -1, "worker 0": 0, "workers 0 and 1": 1, "workers 0 to 2": 2}


of = partial(on_setting, ServerSetting)


class ServerExplorer(Explorer):
    """A parameter server to take apart: timeline of the workers, staleness of gradients, loss by virtual time.

    Every position of the controls is a training of its own, simulated: real gradients on digits, virtual time.

    Args:
        policy, workers, servers, backup, n, slack, spread, straggler, times_slower, rate, remedy: where the controls
            stand at first. `policy` is a key of POLICIES, `remedy` one of REMEDIES, `straggler` the last of the
            slow workers, which begin with worker 0, or -1 (nobody).
    """

    above = ("numbers",)
    wide = ("workers",)

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
        remedy: str = "none",
    ) -> None:
        controls = {
            "policy": menu("policy", list(POLICIES), policy),
            "workers": number("workers", 2, 16, workers),
            "servers": menu("servers", [1, 2, 4], servers),
            "backup": number("backups", 0, _MOST_BACKUPS, backup),
            "n": number("n", 1, 16, n),
            "slack": number("slack", 0, 8, slack),
            "spread": scale("speeds vary", [0.0, 0.05, 0.1, 0.2, 0.5], spread, lambda x: f"{x:.0%}"),
            "straggler": menu("stragglers", _STRAGGLERS, straggler),
            "times_slower": scale("slower by", [1.5, 2, 3, 5, 10], times_slower, lambda x: f"{x:g}×"),
            "rate": scale("rate", [0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0], rate, lambda x: f"{x:g}"),
            "remedy": menu("remedy", list(REMEDIES), remedy),
        }
        panels = {
            "numbers": Panel(of(lambda s: numbers_html(_facts(s), "simulated"))),
            "workers": Panel(of(_workers_panel), None, "The beginning", "simulated"),
            "staleness": Panel(of(lambda s: staleness_panel(_history(s))), None, "How old gradients are", "simulated"),
            "loss": Panel(of(lambda s: loss_panel(_compared(s))), None, "Loss by virtual time", "simulated"),
        }
        caption = of(lambda s: describe_history(_history(s)))
        super().__init__(panels, caption=caption, still=of(_draw_still), **controls)

    def prepare(self) -> None:
        """Only what the policy and the machines use can be moved, and only as far as there are workers."""
        controls, workers = self.controls, self.controls["workers"].value
        for name, policy in _USED_BY.items():
            controls[name].disabled = controls["policy"].value != policy
        offer(controls["straggler"], {name: last for name, last in _STRAGGLERS.items() if last < workers})
        controls["times_slower"].disabled = controls["straggler"].value < 0
        controls["n"].max, controls["backup"].max = workers, min(workers - 1, _MOST_BACKUPS)


def _history(setting: ServerSetting) -> History:
    """The training of a setting; what its policy and machines do not use is at rest, so that it is trained once."""
    rest: dict[str, Any] = {name: 1 for name, policy in _USED_BY.items() if policy != setting.policy}
    if setting.straggler < 0:
        rest["times_slower"] = 1.0
    return history_of(setting._replace(**rest))


def _compared(setting: ServerSetting) -> dict[str, History]:
    """This policy's training, and the synchronous one on the same machines."""
    settings = {policy_of(setting).name: setting, "synchronous": setting._replace(policy="synchronous", remedy="none")}
    return {name: _history(each) for name, each in settings.items()}


def _facts(setting: ServerSetting) -> dict[str, str]:
    history = _history(setting)
    busiest = max(map(sum, zip(history.trace.bytes_sent, history.trace.bytes_received, strict=True)))
    return {
        "virtual time": format_seconds(history.time_s[-1]),
        "updates": str(history.updates[-1]),
        "gradients used": str(history.gradients[-1]),
        "thrown away": str(len(history.dropped)),
        "mean staleness": f"{history.mean_staleness:.3g}",
        "loss": f"{history.loss[-1]:.3g}",
        "accuracy": f"{history.accuracy:.0%}",
        "busiest rank": format_bytes(busiest),
    }


def _shown_s(setting: ServerSetting) -> float:
    """Long enough to see each worker a few times."""
    slowest = setting.times_slower if setting.straggler >= 0 else 1.0
    return min(GRADIENT_S * max(8.0, 2.5 * slowest), _history(setting).trace.seconds)


def _workers_panel(setting: ServerSetting) -> str:
    return workers_panel(_history(setting), setting.servers, _shown_s(setting))


@styled
def _draw_still(setting: ServerSetting) -> Picture:
    history = _history(setting)
    picture, grid = new_picture(PAGE_IN, 5.4, 2, 2, height_ratios=[1.2, 1])
    for axes in grid[0]:
        axes.remove()
    timeline = picture.add_subplot(grid[0, 0].get_gridspec()[0, :])
    timeline_on(timeline, history.trace)
    timeline.legend(handles=timeline_legend(history.trace), ncols=4, loc="lower right", bbox_to_anchor=(1, 0.99))
    timeline.set_xlim(0, timeline.get_xlim()[1] * _shown_s(setting) / history.trace.seconds)
    members = [f"server {i}" for i in range(setting.servers)] + [f"worker {i}" for i in range(setting.workers)]
    timeline.set_yticks(timeline.get_yticks(), [members[int(y)] for y in timeline.get_yticks()])
    timeline.set(title="The beginning", ylabel="")
    staleness_on(grid[1, 0], history.staleness)
    grid[1, 0].set(title=f"How old gradients are: mean {history.mean_staleness:.3g}", xlabel="staleness (updates)")
    losses_on(grid[1, 1], _compared(setting), "time_s")
    grid[1, 1].set_title("Loss by virtual time")
    grid[1, 1].legend()
    alt = f"Server explorer: {policy_of(setting).name}, {setting.workers} workers. {describe_history(history)}"
    note = f"{policy_of(setting).name}, {setting.workers} workers; the controls work in JupyterLab"
    return finish(picture, origin="simulated", alt=alt, note=note)
