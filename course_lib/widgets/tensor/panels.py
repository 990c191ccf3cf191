"""The pictures of the tensor explorer: where a step's time goes, what a rank sends, and efficiency by ranks."""

from __future__ import annotations

from course_lib.draw.units import format_bytes, format_count, format_seconds
from course_lib.tensor_parallel import MEGATRON_WEAK_SCALING
from course_lib.widgets.panels import Axis, Bars, Line, Lines, Table, axis
from course_lib.widgets.tensor.model import RANKS_PER_NODE, TensorSetting, efficiency_curve

__all__ = ["describe_tensor", "pictures"]

_RANKS = (1, 2, 4, 8, 16, 32, 64)


def pictures(setting: TensorSetting) -> list[str | Table | Bars | Lines]:
    """All that is shown of a setting."""
    return [describe_tensor(setting), _facts(setting), _time(setting), _sent(setting), _efficiency(setting)]


def describe_tensor(setting: TensorSetting) -> str:
    """The setting in words."""
    where = "inside a node" if setting.tensor <= RANKS_PER_NODE else f"across nodes of {RANKS_PER_NODE}"
    states, ranks = format_bytes(setting.state_bytes), f"{setting.tensor} × {setting.data} ranks"
    return (
        f"{setting.parameters / 1e9:.1f} billion parameters on {ranks}, a copy {where}: {states} of states on each, "
        f"{setting.efficiency:.0%} of a step computing."
    )


def _facts(setting: TensorSetting) -> Table:
    facts = {
        "parameters": f"{setting.parameters / 1e9:.2f} billion",
        "states on a rank": format_bytes(setting.state_bytes),
        "one step": format_seconds(sum(setting.parts_s.values())),
        "efficiency": f"{setting.efficiency:.0%}",
        "batch in all": format_count(setting.batch * setting.data, "sequence"),
    }
    return Table(facts, "computed")


def _time(setting: TensorSetting) -> Bars:
    milliseconds = {name: {"time": 1e3 * seconds} for name, seconds in setting.parts_s.items()}
    return Bars(
        title="Where a step's time goes",
        origin="computed",
        label="; ".join(f"{name}: {format_seconds(seconds)}" for name, seconds in setting.parts_s.items()),
        bars=milliseconds,
        axis=_room("ms", [bar["time"] for bar in milliseconds.values()]),
        show=lambda value: format_seconds(1e-3 * value),
    )


def _sent(setting: TensorSetting) -> Bars:
    sent = {"in the layers": setting.tensor_bytes, "of the gradients": setting.data_bytes}
    return Bars(
        title="What a rank sends in a step",
        origin="computed",
        label="; ".join(f"{name}: {format_bytes(count)}" for name, count in sent.items()),
        bars={name: {"bytes": 1e-9 * count} for name, count in sent.items()},
        axis=_room("GB", [1e-9 * count for count in sent.values()]),
        show=lambda value: format_bytes(1e9 * value),
    )


def _efficiency(setting: TensorSetting) -> Lines:
    published = MEGATRON_WEAK_SCALING
    gpus = [model.gpus for model in published]
    return Lines(
        title="Efficiency by tensor-parallel ranks; Megatron's weak scaling beside it",
        origin="computed, published",
        label=f"here: {setting.efficiency:.0%} on {format_count(setting.tensor, 'rank')}",
        lines={
            "this model (computed)": Line(_RANKS, efficiency_curve(setting, _RANKS)),
            "Megatron (published)": Line(gpus, [model.efficiency for model in published]),
            "with 64 copies (published)": Line(gpus, [model.with_data for model in published]),
        },
        x=axis("tensor-parallel ranks", _RANKS, log=True),
        y=axis("efficiency", [0], "%", high=1.0),
        here=(setting.tensor, setting.efficiency),
    )


def _room(name: str, values: list[float]) -> Axis:
    return axis(name, [0], high=1.3 * max(values) or 1.0)
