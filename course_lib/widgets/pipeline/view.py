"""The pipeline explorer: stages, micro-batches, a schedule and its times; or a schedule of one's own."""

from __future__ import annotations

from typing import Any, ClassVar

from course_lib.pipeline import SCHEDULES, Schedule, ScheduleError
from course_lib.widgets.controls import menu, number, scale
from course_lib.widgets.pipeline.model import PipelineSetting, moments_of, timeline_of
from course_lib.widgets.pipeline.panels import pictures
from course_lib.widgets.stepped import SteppedExplorer

__all__ = ["PipelineExplorer"]

_MILLISECONDS = [0.0, 0.6, 1.0, 2.0, 3.0, 5.0, 9.3, 10.0, 15.0, 18.1, 18.5, 20.0, 30.0]


class PipelineExplorer(SteppedExplorer):
    """A pipeline's schedule to take apart and to play: timeline, idle share, activations held; a schedule of one's own
    is checked. At first it is the lecture's pipeline: 8 ranks, 24 micro-batches, the times published by Qi et al.

    Everything is computed by `pipeline_timeline`; what comes from another rank travels and keeps nobody busy.

    Args:
        own: a schedule of your own; it stands in the menu as "your own".
        schedule, ranks, micro_batches, forward_ms, input_ms, weight_ms, transfer_ms, step: where the controls stand at
            first. Schedules with two stages a rank take half of the times for each; interleaved rounds the
            micro-batches up to what the ranks divide. Step 0 shows all of the time, each further one a moment in which
            something begins.
    """

    moves: ClassVar = {
        "schedule": None,
        "micro_batches": [8, 24],
        "transfer_ms": [0.0, 0.6, 2.0, 10.0],
    }
    rests = "this schedule cannot be carried out"

    def __init__(
        self,
        own: Schedule | None = None,
        *,
        schedule: str = "1F1B",
        ranks: int = 8,
        micro_batches: int = 24,
        forward_ms: float = 18.5,
        input_ms: float = 18.1,
        weight_ms: float = 9.3,
        transfer_ms: float = 0.6,
        step: int = 0,
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
            step=step,
        )

    def steps(self, values: dict[str, Any]) -> int:
        """Moments in which something begins."""
        try:
            return len(moments_of(timeline_of(_setting(**values))))
        except ScheduleError:
            return 0


def _shown(**values: Any) -> list[Any]:
    return pictures(_setting(**values))


def _setting(schedule: str | Schedule, ranks: int, micro_batches: int, step: int, **times_ms: float) -> PipelineSetting:
    seconds = {f"{name.removesuffix('_ms')}_s": 1e-3 * ms for name, ms in times_ms.items()}
    return PipelineSetting(schedule, ranks, micro_batches, **seconds, step=step)


def _milliseconds(value: float) -> str:
    return f"{value:g} ms"
