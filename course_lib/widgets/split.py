"""The split explorer: AlexNet with a cut for each layer, what a rank sends in a step and what it holds."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from course_lib.draw.chapters.model_parallel import sent_bars
from course_lib.draw.colors import COLORS
from course_lib.draw.panels import Bars, Line, Lines, Table, axis
from course_lib.draw.units import format_bytes, format_count
from course_lib.model_parallel import ALEXNET, ConvShape, HybridPlan, choose_splits, layer_elements, plan_bytes
from course_lib.widgets.controls import menu, scale
from course_lib.widgets.settings import EVERY, SettingExplorer, control

CUTS = {"by examples": "data", "by outputs": "model"}  # as pages say it -> as `choose_splits` does
BATCHES = (4, 32, 128, 512, 1024, 2048, 3000, 3500, 4096, 8192)
PARTS = ("gradients of weights", "outputs", "gradients of inputs", "changes of the cut")
_ELEMENT_BYTES = 4


def _cut_of(layer: str, **more: Any) -> Any:
    """A field of the setting: how a layer is cut."""
    return control("by examples", menu, layer, list(CUTS), **more)


@dataclass(frozen=True)
class SplitSetting:
    """All that the controls say: a cut for each layer of AlexNet, one of CUTS' keys, the batch and the ranks."""

    conv1: str = _cut_of("conv1", book=EVERY)
    conv2: str = _cut_of("conv2")
    conv3: str = _cut_of("conv3")
    conv4: str = _cut_of("conv4")
    conv5: str = _cut_of("conv5")
    fc6: str = _cut_of("fc6", book=EVERY)
    fc7: str = _cut_of("fc7", book=EVERY)
    fc8: str = _cut_of("fc8", book=EVERY)
    batch: int = control(
        1024, scale, "pictures", BATCHES, show="{:,}".format, book=[4, 128, 1024, 2048, 3500], about="of all ranks"
    )
    world_size: int = control(8, scale, "ranks", (1, 2, 3, 4, 8, 16, 64), book=[8, 64])

    @property
    def cuts(self) -> tuple[str, ...]:
        """The cut of each layer."""
        return tuple(getattr(self, layer.name) for layer in ALEXNET)

    @property
    def choices(self) -> tuple[str, ...]:
        """The cuts as the library names them."""
        return tuple(CUTS[cut] for cut in self.cuts)

    @property
    def sent_bytes(self) -> float:
        """What a rank sends in a step by this plan."""
        return plan_bytes(ALEXNET, self.choices, batch=self.batch, world_size=self.world_size)

    @property
    def all_examples_bytes(self) -> float:
        """What it would send with all layers by examples."""
        return plan_bytes(ALEXNET, ["data"] * len(ALEXNET), batch=self.batch, world_size=self.world_size)

    @property
    def best(self) -> HybridPlan:
        """The plan of these two cuts that sends least, with all-gathers where the cut changes."""
        return choose_splits(ALEXNET, batch=self.batch, world_size=self.world_size)

    @property
    def held_parameters(self) -> int:
        """Weights and biases of the rank that holds most."""
        held = 0
        for layer, cut in zip(ALEXNET, self.cuts, strict=True):
            outputs = layer.out_channels if isinstance(layer, ConvShape) else layer.outputs
            largest = -(-outputs // self.world_size)
            held += layer.parameters if cut == "by examples" else layer.parameters // outputs * largest
        return held

    @property
    def by_layer(self) -> dict[str, dict[str, float]]:
        """Layer -> part -> bytes that a rank sends; parts that are not there are left out."""
        found = {}
        share = _ELEMENT_BYTES * (self.world_size - 1) / self.world_size * self.batch
        befores = (None, *self.choices[:-1])
        for layer, choice, before in zip(ALEXNET, self.choices, befores, strict=True):
            whole = _ELEMENT_BYTES * layer_elements(layer, choice, before, self.batch, self.world_size)
            changed = before not in (None, choice)
            parts = {"changes of the cut": share * layer.input_elements if changed else 0.0}
            if choice == "model":
                parts["outputs"] = share * layer.output_elements
                parts["gradients of inputs"] = share * layer.input_elements if before else 0.0
            else:
                parts["gradients of weights"] = whole - parts["changes of the cut"]
            found[layer.name] = {part: parts[part] for part in PARTS if parts.get(part)}
        return found


# The pictures of the split explorer: the page's bars with the reader's plan, its layers, and the plan by batch.

GOAL_BYTES = SplitSetting().all_examples_bytes / 3
_ALL = "all by examples"
_YOURS = "your plan"
_BEST = "the best plan"
_COLORS = dict(zip(PARTS, (COLORS[name] for name in ("blue", "orange", "green", "vermillion")), strict=True))


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
        there = replace(setting, batch=batch)
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


class SplitExplorer(SettingExplorer):
    """AlexNet with a cut for each layer: what a rank sends in a step, layer by layer and by batch, and what it holds.

    Everything is computed by `plan_bytes`: rings, 4 bytes a number, and what changes of the cut cost.

    Args:
        by_outputs: names of the layers that are cut by outputs at first; all others are cut by examples.

    Raises:
        ValueError: if AlexNet has no such layer.
    """

    Setting = SplitSetting

    def __init__(self, *, by_outputs: tuple[str, ...] = (), **asked: Any) -> None:
        names = [layer.name for layer in ALEXNET]
        if unknown := sorted(set(by_outputs) - set(names)):
            raise ValueError(f"by_outputs must name layers among {', '.join(names)}, got {', '.join(unknown)}")
        super().__init__(**dict.fromkeys(by_outputs, "by outputs"), **asked)

    @staticmethod
    def pictures(setting: SplitSetting) -> list[str | Table | Bars | Lines]:
        """All that is shown of a setting."""
        return [describe_split(setting), _facts(setting), _bars(setting), _layers(setting), _by_batch(setting)]
