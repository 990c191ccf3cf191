"""The pictures of the split explorer: the page's bars with the reader's plan, its layers, and the plan by batch."""

from __future__ import annotations

from course_lib.draw.colors import COLORS
from course_lib.draw.model_parallel import sent_bars
from course_lib.draw.panels import Bars, Line, Lines, Table, axis
from course_lib.draw.units import format_bytes, format_count
from course_lib.model_parallel import ALEXNET
from course_lib.widgets.split.model import BATCHES, PARTS, SplitSetting

__all__ = ["describe_split", "pictures"]

GOAL_BYTES = SplitSetting(("by examples",) * len(ALEXNET), 1024, 8).all_examples_bytes / 3
_ALL = "all by examples"
_YOURS = "your plan"
_BEST = "the best plan"
_COLORS = dict(zip(PARTS, (COLORS[name] for name in ("blue", "orange", "green", "vermillion")), strict=True))


def pictures(setting: SplitSetting) -> list[str | Table | Bars | Lines]:
    """All that is shown of a setting."""
    return [describe_split(setting), _facts(setting), _bars(setting), _layers(setting), _by_batch(setting)]


def describe_split(setting: SplitSetting) -> str:
    """The setting in words: what the plan sends, against the best plan, and who has no work."""
    if setting.world_size == 1:
        return "One rank has nobody to talk to."
    sent, least = setting.sent_bytes, setting.best.sent_bytes
    said = f"By this plan a rank sends {format_bytes(sent)} in a step"
    if sent <= least * (1 + 1e-9):
        said += ": no plan of these two cuts sends less, with all-gathers."
    else:
        said += f". The best plan of these two cuts, with all-gathers, sends {format_bytes(least)}."
    if setting.batch < setting.world_size and "by examples" in setting.cuts:
        idle = setting.world_size - setting.batch
        said += f" {format_count(idle, 'rank')} of {setting.world_size} have no picture for the layers by examples."
    return said


def _facts(setting: SplitSetting) -> Table:
    by_outputs = [layer.name for layer, cut in zip(ALEXNET, setting.cuts, strict=True) if cut == "by outputs"]
    whole = sum(layer.parameters for layer in ALEXNET)
    facts = {
        "by outputs": ", ".join(by_outputs) or "none",
        "a rank sends": format_bytes(setting.sent_bytes),
        "a rank holds": f"{setting.held_parameters / 1e6:.1f} of {whole / 1e6:.1f} million weights and biases",
    }
    return Table(facts, "computed")


def _bars(setting: SplitSetting) -> Bars:
    plans = {_ALL: setting.all_examples_bytes, _YOURS: setting.sent_bytes, _BEST: setting.best.sent_bytes}
    return sent_bars(plans, goal_bytes=GOAL_BYTES)


def _layers(setting: SplitSetting) -> Bars:
    bars = setting.by_layer
    sums = {name: sum(parts.values()) for name, parts in bars.items()}
    return Bars(
        title="What it sends, by layer",
        origin="computed",
        label="; ".join(f"{name}: {format_bytes(sent)}" for name, sent in sums.items()),
        bars=bars,
        axis=axis("sent by a rank", [*sums.values(), 1e6], "B"),
        colors=_COLORS,
        show=format_bytes,
        row_px=24.0,
    )


def _by_batch(setting: SplitSetting) -> Lines:
    curves: dict[str, list[float]] = {_ALL: [], _YOURS: [], _BEST: []}
    for batch in BATCHES:
        there = setting._replace(batch=batch)
        curves[_ALL].append(there.all_examples_bytes)
        curves[_YOURS].append(there.sent_bytes)
        curves[_BEST].append(there.best.sent_bytes)
    values = [sent for curve in curves.values() for sent in curve]
    talks = setting.world_size > 1
    return Lines(
        title="What a rank sends, by batch",
        origin="computed",
        label="; ".join(f"{name}: {format_bytes(curve[-1])} at {BATCHES[-1]:,}" for name, curve in curves.items()),
        lines={name: Line(BATCHES, curve) for name, curve in curves.items()} if talks else {},
        x=axis("pictures in a step", BATCHES, log=True, at=(4, 32, 128, 1024, 8192)),
        y=axis("sent by a rank", values if talks else [1e6, 1e9], "B", log=True),
        here=(setting.batch, setting.sent_bytes) if talks else None,
    )
