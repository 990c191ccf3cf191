"""The pictures of the storage explorer: a step's parts, and samples a second by nodes and by samples in a file."""

from __future__ import annotations

import math

from course_lib.draw.colors import COLORS
from course_lib.draw.panels import Bars, Line, Lines, Sketch, Table, axis
from course_lib.draw.units import format_bytes, format_count, format_seconds, format_share
from course_lib.storage import needed_in_flight
from course_lib.widgets.storage.model import BATCH, FILE_SAMPLES, NODES, STORAGES, InputPath, StorageSetting
from course_lib.widgets.storage.places import way_pictures

__all__ = ["describe_input", "pictures"]

_ORIGIN = "computed from published figures"
_WAITED_FOR, _WAITS = "the others wait for it", "done earlier"
# "devices" is what one part is called by the model; these say what it does in a step.
_DOES = {
    "devices": "computing",
    "opens waited for": "waiting for opens",
    "metadata": "metadata",
    "storage bandwidth": "storage's bandwidth",
    "links": "nodes' links",
}


def pictures(setting: StorageSetting) -> list[str | Table | Bars | Lines | Sketch]:
    """All that is shown of a setting."""
    path = InputPath(setting)
    if setting.watched and setting.cached_share < 1:
        return [*way_pictures(path), _step(path)]
    return [describe_input(path), _facts(path), _step(path), _by_nodes(path), _by_file_samples(path)]


def describe_input(path: InputPath) -> str:
    """The setting in words: who waits for whom."""
    setting = path.setting
    who = f"{format_count(setting.nodes, 'node')}, {setting.samples_per_s:,.0f} samples a second each"
    files = "a file for each sample" if setting.file_samples == 1 else f"{setting.file_samples:,} samples in a file"
    if path.longest == "devices":
        return f"{who}, {files}, {setting.storage}: the samples are there in time, nobody waits for them."
    return (
        f"{who}, {files}, {setting.storage}: everybody waits for {_DOES[path.longest].removeprefix('waiting for ')}; "
        f"the devices compute {format_share(path.busy_share)} of the time."
    )


def _facts(path: InputPath) -> Table:
    setting, storage = path.setting, STORAGES[path.setting.storage]
    files_per_s = setting.samples_per_s * (1 - setting.cached_share) / setting.file_samples
    exhausted = path.exhausted_nodes
    never = "never: each node has its own" if setting.local else "never: the nodes' own limits are lower"
    return Table(
        {
            "together": f"{path.samples_per_s(setting.nodes):,.0f} samples a second",
            "waited for": _DOES[path.longest],
            "devices busy": format_share(path.busy_share),
            "storage exhausted": never if exhausted is None else f"from {format_count(exhausted, 'node')}",
            "opens under way": f"{math.ceil(needed_in_flight(files_per_s, storage.open_s)):,} to keep a node busy",
            "one open": format_seconds(storage.open_s),
            "a file has": format_bytes(setting.file_samples * setting.sample_bytes),
        },
        _ORIGIN,
    )


def _step(path: InputPath) -> Bars:
    parts = path.step_parts_s
    return Bars(
        title="Who waits for whom in a step",
        origin=_ORIGIN,
        label=f"a step of {BATCH:,} samples a node: "
        + "; ".join(f"{_DOES[name]}: {format_seconds(seconds)}" for name, seconds in parts.items()),
        bars={
            _DOES[name]: {_WAITED_FOR: seconds if name == path.longest else 0.0}
            | {_WAITS: 0.0 if name == path.longest else seconds}
            for name, seconds in parts.items()
        },
        axis=axis("time", parts.values(), "s"),
        colors={_WAITED_FOR: COLORS["vermillion"], _WAITS: COLORS["sky"]},
        show=format_seconds,
    )


def _by_nodes(path: InputPath) -> Lines:
    setting, exhausted = path.setting, path.exhausted_nodes
    marked = exhausted if exhausted is not None and exhausted <= NODES[-1] else None
    wanted = [nodes * setting.samples_per_s / 1e3 for nodes in NODES]
    trained = [path.samples_per_s(nodes) / 1e3 for nodes in NODES]
    here = setting.nodes, path.samples_per_s(setting.nodes) / 1e3
    where = f"; storage exhausted from {format_count(marked, 'node')}" if marked else ""
    return Lines(
        title="Samples a second by nodes",
        origin=_ORIGIN,
        label=f"here: {here[1]:,.3g} thousand on {format_count(setting.nodes, 'node')}{where}",
        lines={"trained": Line(NODES, trained), "taken by the devices": Line(NODES, wanted)},
        x=axis("nodes", NODES, log=True, at=NODES),
        y=axis("thousand a second", [*wanted, *trained], log=True),
        here=here,
        notes={(marked, path.samples_per_s(marked) / 1e3): f"exhausted: {marked:,}"} if marked else None,
    )


def _by_file_samples(path: InputPath) -> Lines:
    setting = path.setting
    trained = [path.samples_per_s(setting.nodes, samples) / 1e3 for samples in FILE_SAMPLES]
    wanted = setting.nodes * setting.samples_per_s / 1e3
    here = setting.file_samples, path.samples_per_s(setting.nodes) / 1e3
    return Lines(
        title="Samples a second by samples in a file",
        origin=_ORIGIN,
        label=f"here: {here[1]:,.3g} thousand with {format_count(setting.file_samples, 'sample')} in a file",
        lines={
            "trained": Line(FILE_SAMPLES, trained),
            "taken by the devices": Line(FILE_SAMPLES, [wanted] * len(FILE_SAMPLES)),
        },
        x=axis("samples in a file", FILE_SAMPLES, log=True),
        y=axis("thousand a second", [*trained, wanted], log=True),
        here=here,
    )
