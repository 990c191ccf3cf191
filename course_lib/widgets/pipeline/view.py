"""The pipeline explorer: stages, micro-batches, a schedule and its times; or a schedule of one's own."""

from __future__ import annotations

from typing import Any, ClassVar

from course_lib.pipeline import SCHEDULES, Schedule
from course_lib.widgets.controls import menu, number, scale
from course_lib.widgets.explorer import Explorer
from course_lib.widgets.pipeline.model import PipelineSetting
from course_lib.widgets.pipeline.panels import pictures

__all__ = ["PipelineExplorer"]

_MILLISECONDS = [0.0, 0.5, 1.0, 2.0, 3.0, 5.0, 8.0, 10.0, 15.0, 20.0, 30.0]


class PipelineExplorer(Explorer):
    """A pipeline's schedule to take apart: timeline, bubble, activations held; a schedule of one's own is checked.

    Everything is computed by `pipeline_timeline`; what comes from another rank travels and keeps nobody busy.

    Args:
        own: a schedule of your own; it stands in the menu as "your own".
        schedule, ranks, micro_batches, forward_ms, input_ms, weight_ms, transfer_ms: where the controls stand at first.
            Schedules with two stages a rank take half of the times for each; interleaved rounds the micro-batches up
            to what the ranks divide.
    """

    moves: ClassVar = {
        "schedule": None,
        "ranks": [2, 3, 4, 6, 8],
        "micro_batches": [1, 2, 4, 8, 16],
        "transfer_ms": [0.0, 5.0],
    }

    def __init__(
        self,
        own: Schedule | None = None,
        *,
        schedule: str = "1F1B",
        ranks: int = 4,
        micro_batches: int = 8,
        forward_ms: float = 10.0,
        input_ms: float = 10.0,
        weight_ms: float = 10.0,
        transfer_ms: float = 0.0,
    ) -> None:
        names: dict[str, str | Schedule] = {name: name for name in SCHEDULES}
        if own is not None:
            names["your own"] = own
        super().__init__(
            _shown,
            schedule=menu("schedule", names, schedule if own is None else own),
            ranks=number("ranks", 1, 12, ranks),
            micro_batches=number("micro-batches", 1, 32, micro_batches),
            forward_ms=scale("forward", _MILLISECONDS[1:], forward_ms, _milliseconds),
            input_ms=scale("input gradient", _MILLISECONDS[1:], input_ms, _milliseconds),
            weight_ms=scale("weight gradient", _MILLISECONDS[1:], weight_ms, _milliseconds),
            transfer_ms=scale("transfer", _MILLISECONDS, transfer_ms, _milliseconds),
        )


def _shown(
    schedule: str | Schedule,
    ranks: int,
    micro_batches: int,
    forward_ms: float,
    input_ms: float,
    weight_ms: float,
    transfer_ms: float,
) -> list[Any]:
    seconds = (ms * 1e-3 for ms in (forward_ms, input_ms, weight_ms, transfer_ms))
    return pictures(PipelineSetting(schedule, ranks, micro_batches, *seconds))


def _milliseconds(value: float) -> str:
    return f"{value:g} ms"
