"""The pictures of the split explorer: each cut, what a rank holds and sends with it, and the border by batch."""

from __future__ import annotations

from course_lib.draw.panels import Bars, Line, Lines, Sketch, Table, axis
from course_lib.draw.panels.drawing import FAINT
from course_lib.draw.panels.sketch import band_ranks
from course_lib.draw.units import format_bytes
from course_lib.model_parallel import border_batch
from course_lib.widgets.split.cuts import ELEMENT_BYTES, cut_panel
from course_lib.widgets.split.model import (
    BATCHES,
    LAYERS,
    SplitSetting,
    busiest_curve,
    held_elements,
    parts_of,
    traffic_of,
    winners_of,
)
from course_lib.widgets.split.turns import turning_pictures

__all__ = ["describe_split", "pictures"]

PLAY = "Press play, and Cannon's blocks turn."


def pictures(setting: SplitSetting) -> list[str | Table | Sketch | Lines | Bars]:
    """All that is shown of a setting."""
    if setting.turns:
        return [*turning_pictures(setting)]
    chosen = setting.split if setting.split in setting.splits else setting.splits[0]
    setting = setting._replace(split=chosen)
    said = [describe_split(setting), *([PLAY] if setting.layer == LAYERS[0] else [])]
    return [*said, _facts(setting), *_cuts(setting), _by_batch(setting)]


def describe_split(setting: SplitSetting) -> str:
    """The setting in words: which cut sends least, and what the chosen one sends."""
    if setting.world_size == 1:
        return "One rank has nobody to talk to."
    sent = {split: traffic_of(setting, split).busiest_bytes for split in setting.splits}
    least = min(sent, key=lambda split: sent[split])
    chosen = f"By {setting.split} the busiest rank sends {format_bytes(sent[setting.split])} in a step"
    if sent[least] == sent[setting.split]:
        return f"{chosen}: no cut sends less."
    return f"{chosen}; by {least} it would send {format_bytes(sent[least])}."


def _facts(setting: SplitSetting) -> Table:
    facts = {
        "parameters": f"{setting.shape.parameters:,}",
        "a rank holds": format_bytes(ELEMENT_BYTES * sum(held_elements(setting, setting.split).values())),
    }
    if setting.layer == "fully connected":
        border = border_batch("outputs", inputs=setting.inputs, outputs=setting.outputs, alike=True)
        facts["border of outputs and examples"] = f"batch {border:,.0f}"
    band = max(band_ranks(parts_of(setting, split)) for split in setting.splits)
    whose = "a rank" if band == 1 else f"for up to {band} ranks"
    return Table({**facts, "bands": f"one {whose}; gray: whole on every rank"}, "computed")


def _cuts(setting: SplitSetting) -> list[Sketch]:
    """A sketch of each cut, all on one scale."""
    traffics = {split: traffic_of(setting, split) for split in setting.splits}
    most = max(max(map(max, traffic)) for traffic in traffics.values())
    least = min(traffic.busiest_bytes for traffic in traffics.values())
    notes = {
        split: (", least" if 0 < least == traffic.busiest_bytes else "")
        + (", chosen" if split == setting.split else "")
        for split, traffic in traffics.items()
    }
    return [cut_panel(setting, split, note, most) for split, note in notes.items()]


def _by_batch(setting: SplitSetting) -> Lines:
    curves = {f"by {split}": busiest_curve(setting, split) for split in setting.splits}
    sent = {split: traffic_of(setting, split).busiest_bytes for split in setting.splits}
    values = [value for curve in curves.values() for value in curve]
    y = axis("bytes", [value for value in values if value] or [1.0], "B", log=True)
    lines = {name: Line(BATCHES, curve) for name, curve in curves.items()}
    borders = {batch: f"from batch {batch:,} on least by {split}" for batch, split in winners_of(setting)[1:]}
    for batch, words in borders.items():
        lines[words] = Line([batch, batch], [y.low, y.high], FAINT, (4, 3))
    return Lines(
        title="What the busiest rank sends in a step, by batch",
        origin="computed",
        label="; ".join([*(f"by {split}: {format_bytes(count)}" for split, count in sent.items()), *borders.values()]),
        lines=lines,
        x=axis("batch of all ranks", BATCHES, log=True, at=BATCHES),
        y=y,
        here=(setting.batch, sent[setting.split]) if sent[setting.split] else None,
    )
