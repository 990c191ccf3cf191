"""The pictures of the split explorer: what a rank holds, what it sends in each pass, and the border by batch."""

from __future__ import annotations

from course_lib.draw.looks import FILLS
from course_lib.draw.units import format_bytes
from course_lib.model_parallel import border_batch
from course_lib.widgets.panels import Axis, Bars, Line, Lines, Table, axis
from course_lib.widgets.split.model import BATCHES, SplitSetting, busiest_curve, held_elements, traffic_of

__all__ = ["describe_split", "pictures"]


def pictures(setting: SplitSetting) -> list[str | Table | Bars | Lines]:
    """All that is shown of a setting."""
    chosen = setting.split if setting.split in setting.splits else setting.splits[0]
    setting = setting._replace(split=chosen)
    return [describe_split(setting), _facts(setting), _sent(setting), _held(setting), _by_batch(setting)]


def describe_split(setting: SplitSetting) -> str:
    """The setting in words: which cut sends least, and what the chosen one sends."""
    if setting.world_size == 1:
        return "One rank has nobody to talk to."
    sent = {split: traffic_of(setting, split).busiest_bytes for split in setting.splits}
    least = min(sent, key=lambda split: sent[split])
    chosen = f"By {setting.split} the busiest rank sends {format_bytes(sent[setting.split])} in a step"
    if least == setting.split:
        return f"{chosen}: no cut sends less."
    return f"{chosen}; by {least} it would send {format_bytes(sent[least])}."


def _facts(setting: SplitSetting) -> Table:
    traffic = traffic_of(setting, setting.split)
    facts = {
        "parameters": f"{setting.shape.parameters:,}",
        "a rank holds": f"{sum(held_elements(setting, setting.split).values()):,.0f} numbers",
        "sends forward": format_bytes(max(traffic.forward_bytes)),
        "sends backward": format_bytes(max(traffic.backward_bytes)),
    }
    if setting.layer == "fully connected":
        border = border_batch("outputs", inputs=setting.inputs, outputs=setting.outputs, alike=True)
        facts["border of outputs and examples"] = f"batch {border:,.0f}"
    return Table(facts, "computed")


def _sent(setting: SplitSetting) -> Bars:
    traffics = {split: traffic_of(setting, split) for split in setting.splits}
    bars = {
        f"by {split}": {"forward": float(max(traffic.forward_bytes)), "backward": float(max(traffic.backward_bytes))}
        for split, traffic in traffics.items()
    }
    return Bars(
        title="What the busiest rank sends in a step",
        origin="computed",
        label="; ".join(f"{name}: {format_bytes(sum(parts.values()))}" for name, parts in bars.items()),
        bars=bars,
        axis=_bytes(bars),
        colors={name: FILLS["passes"][name].color for name in ("forward", "backward")},
        show=format_bytes,
    )


def _held(setting: SplitSetting) -> Bars:
    bars = {
        f"by {split}": {name: 4.0 * count for name, count in held_elements(setting, split).items()}
        for split in setting.splits
    }
    return Bars(
        title="What a rank holds",
        origin="computed",
        label="; ".join(f"{name}: {format_bytes(sum(parts.values()))}" for name, parts in bars.items()),
        bars=bars,
        axis=_bytes(bars),
        show=format_bytes,
    )


def _bytes(bars: dict[str, dict[str, float]]) -> Axis:
    return axis("bytes", [sum(parts.values()) for parts in bars.values()], "B")


def _by_batch(setting: SplitSetting) -> Lines:
    curves = {f"by {split}": busiest_curve(setting, split) for split in setting.splits}
    values = [value for curve in curves.values() for value in curve]
    here = setting.batch, traffic_of(setting, setting.split).busiest_bytes
    return Lines(
        title="The border: what a rank sends, by batch",
        origin="computed",
        label=f"here: batch {setting.batch}, {format_bytes(here[1])} by {setting.split}",
        lines={name: Line(BATCHES, curve) for name, curve in curves.items()},
        x=axis("batch of all ranks", BATCHES, log=True, at=BATCHES),
        y=axis("bytes", [value for value in values if value] or [1.0], "B", log=True),
        here=here if here[1] else None,
    )
