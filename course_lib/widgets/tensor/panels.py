"""The pictures of the tensor explorer: a GPU's memory by each cut, a block that is cut, where a step's time goes."""

from __future__ import annotations

from course_lib.draw.colors import COLORS
from course_lib.draw.panels import Bars, Sketch, Table, axis
from course_lib.draw.tensor_parallel import cut_bars
from course_lib.draw.units import format_bytes, format_count, format_parameters, format_seconds, format_share
from course_lib.tensor_parallel import gpt_parameters
from course_lib.widgets.tensor.block import block_panel
from course_lib.widgets.tensor.model import GPUS_PER_MACHINE, TensorSetting

__all__ = ["describe_tensor", "pictures"]

_COLORS = {"computing": COLORS["blue"], "all-reduces": COLORS["vermillion"]}


def pictures(setting: TensorSetting) -> list[str | Table | Sketch | Bars]:
    """All that is shown of a setting."""
    return [
        describe_tensor(setting),
        cut_bars(setting.bars, setting.memory_bytes),
        _facts(setting),
        block_panel(setting),
        _time(setting),
    ]


def describe_tensor(setting: TensorSetting) -> str:
    """The setting in words."""
    parameters = gpt_parameters(setting.layers, setting.hidden, setting.vocabulary, setting.sequence)
    where = "one machine" if setting.inside else f"machines of {GPUS_PER_MACHINE}"
    held, room = format_bytes(setting.held_bytes), format_bytes(setting.memory_bytes)
    fits = "it fits" if setting.held_bytes <= setting.memory_bytes else "it does not fit"
    return (
        f"{format_parameters(parameters)} parameters on {format_count(setting.gpus, 'GPU')} in {where}, cut: "
        f"{setting.cut}. Each must hold {held} and has {room}: {fits}. Efficiency {format_share(setting.efficiency)}."
    )


def _facts(setting: TensorSetting) -> Table:
    parts = setting.parts_s
    facts = {
        "tokens of a step": f"{setting.step().tokens:,}",
        "a GPU holds": format_bytes(setting.held_bytes),
        "sends": format_bytes(setting.step().sent_bytes),
        "computes": format_seconds(parts["computing"]),
        "waits": format_seconds(parts["all-reduces"]),
        "efficiency": format_share(setting.efficiency),
    }
    return Table(facts, "computed")


def _time(setting: TensorSetting) -> Bars:
    parts = setting.parts_s
    return Bars(
        title="Where a step's time goes",
        origin="computed",
        label="; ".join(f"{name}: {format_seconds(seconds)}" for name, seconds in parts.items()),
        bars={name: {name: seconds} for name, seconds in parts.items()},
        axis=axis("time", parts.values(), "s"),
        colors=_COLORS,
        show=format_seconds,
    )
