"""The pictures of the tensor explorer: a block that is cut, its memory, where a step's time goes, efficiency."""

from __future__ import annotations

from course_lib.draw.colors import COLORS
from course_lib.draw.panels import Bars, Line, Lines, Matrix, Sketch, Table, axis
from course_lib.draw.units import format_bytes, format_count, format_parameters, format_seconds, format_share
from course_lib.tensor_parallel import MEGATRON_WEAK_SCALING
from course_lib.widgets.tensor.block import block_panel
from course_lib.widgets.tensor.model import (
    BLOCK,
    RANKS_PER_NODE,
    RING_RANKS,
    TENSOR_RANKS,
    TensorSetting,
    divisors,
    efficiency_curve,
)
from course_lib.widgets.tensor.ring import ring_pictures

__all__ = ["describe_tensor", "pictures"]

PLAY = "Press play, and keys go round a ring."

# The parts of `parts_s`: names that are short enough to stand at the left, and what they are.
_ROWS = {"computing": "computing", "layers' all-reduces": "all-reduce", "gradients' all-reduce": "all-reduce"}
_COLORS = {"computing": COLORS["blue"], "all-reduce": COLORS["vermillion"]}


def pictures(setting: TensorSetting) -> list[str | Table | Sketch | Bars | Lines | Matrix]:
    """All that is shown of a setting."""
    if setting.show != BLOCK:
        return [*ring_pictures(setting)]
    return [
        describe_tensor(setting),
        *([PLAY] if setting.tensor <= RING_RANKS else []),
        block_panel(setting),
        _facts(setting),
        _memory(setting),
        _time(setting),
        _efficiency(setting),
    ]


def describe_tensor(setting: TensorSetting) -> str:
    """The setting in words."""
    where = "inside a node" if setting.tensor <= RANKS_PER_NODE else f"across nodes of {RANKS_PER_NODE}"
    states, ranks = format_bytes(setting.state_bytes), f"{setting.tensor} × {setting.data} ranks"
    return (
        f"{format_parameters(setting.parameters)} parameters on {ranks}, a copy {where}: {states} of states on each, "
        f"{format_share(setting.efficiency)} of a step computing."
    )


def _facts(setting: TensorSetting) -> Table:
    facts = {
        "parameters": format_parameters(setting.parameters),
        "one step": format_seconds(sum(setting.parts_s.values())),
        "efficiency": format_share(setting.efficiency),
        "a rank sends in the layers": format_bytes(setting.tensor_bytes),
        "and of the gradients": format_bytes(setting.data_bytes),
        "batch in all": format_count(setting.batch * setting.data, "sequence"),
    }
    return Table(facts, "computed")


def _time(setting: TensorSetting) -> Bars:
    return Bars(
        title="Where a step's time goes",
        origin="computed",
        label="; ".join(f"{name}: {format_seconds(seconds)}" for name, seconds in setting.parts_s.items()),
        bars={name: {kind: s} for (name, kind), s in zip(_ROWS.items(), setting.parts_s.values(), strict=True)},
        axis=axis("time", setting.parts_s.values(), "s"),
        colors=_COLORS,
        show=format_seconds,
    )


def _memory(setting: TensorSetting) -> Bars:
    whole = setting.whole_bytes
    bars = {"whole": whole, "a rank's part": {part: size / setting.tensor for part, size in whole.items()}}
    sizes = {name: sum(parts.values()) for name, parts in bars.items()}
    return Bars(
        title="Memory of the states",
        origin="computed",
        label="; ".join(f"{name}: {format_bytes(size)}" for name, size in sizes.items()),
        bars=bars,
        axis=axis("memory", sizes.values(), "B"),
        show=format_bytes,
    )


def _efficiency(setting: TensorSetting) -> Lines:
    published = MEGATRON_WEAK_SCALING
    gpus, ranks = [model.gpus for model in published], divisors(setting.heads, TENSOR_RANKS)
    return Lines(
        title="Efficiency by tensor-parallel ranks; Megatron's weak scaling beside it",
        origin="computed, published",
        label=f"here: {format_share(setting.efficiency)} on {format_count(setting.tensor, 'rank')}",
        lines={
            "this model (computed)": Line(ranks, efficiency_curve(setting, ranks)),
            "Megatron (published)": Line(gpus, [model.efficiency for model in published]),
            "with 64 copies (published)": Line(gpus, [model.with_data for model in published]),
        },
        x=axis("tensor-parallel ranks", TENSOR_RANKS, log=True, at=TENSOR_RANKS),
        y=axis("efficiency", [0], "%", high=1.0),
        here=(setting.tensor, setting.efficiency),
    )
