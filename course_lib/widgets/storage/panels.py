"""The pictures of the storage explorer: a step's parts, and busy GPUs by machines and by samples in a file."""

from __future__ import annotations

import math

from course_lib.draw.colors import COLORS
from course_lib.draw.panels import Bars, Line, Lines, Sketch, Table, axis
from course_lib.draw.units import format_bytes, format_count, format_seconds
from course_lib.storage import needed_in_flight
from course_lib.widgets.storage.model import BATCH, FILE_SAMPLES, GPUS, MACHINES, InputPath, StorageSetting
from course_lib.widgets.storage.places import way_pictures

__all__ = ["describe_input", "format_gpus", "pictures"]

_ORIGIN = "computed"
_WAITED_FOR, _WAITS = "the others wait for it", "done earlier"
# What each limit of the model does in a step.
_DOES = {
    "GPUs": "GPUs compute",
    "readers": "readers read",
    "opens": "servers open",
    "bandwidth": "storage delivers",
}
_WAITED = {"readers": "their own readers", "opens": "the servers' opens", "bandwidth": "the storage's bandwidth"}


def pictures(setting: StorageSetting) -> list[str | Table | Bars | Lines | Sketch]:
    """All that is shown of a setting."""
    path = InputPath(setting)
    if setting.watched and setting.cached_share < 1:
        return [*way_pictures(path), _step(path)]
    return [describe_input(path), _facts(path), _step(path), _by_machines(path), _by_file_samples(path)]


def format_gpus(busy: float) -> str:
    """Busy GPUs in two or three digits, a whole machine in one.

    >>> [format_gpus(busy) for busy in (0.2376, 1.04, 7.41, 8.0)]
    ['0.24', '1.0', '7.4', '8']
    """
    if busy >= GPUS - 1e-9:
        return f"{GPUS}"
    if busy >= 0.995:
        return f"{min(busy, GPUS - 0.1):.1f}"
    return f"{busy:.2g}"


def describe_input(path: InputPath) -> str:
    """The setting in words: how many GPUs compute, and whom they wait for."""
    setting = path.setting
    who = f"{format_count(setting.machines, 'machine')}, {format_count(setting.readers, 'reader')} each"
    files = "a file for each sample" if setting.file_samples == 1 else f"{setting.file_samples:,} samples in a file"
    if path.longest == "GPUs":
        return f"{who}, {files}, {setting.storage}: all {GPUS} GPUs of a machine are busy, and wait for nothing."
    busy = format_gpus(path.gpus_busy(setting.machines))
    return f"{who}, {files}, {setting.storage}: {busy} of {GPUS} GPUs are busy. They wait for {_WAITED[path.longest]}."


def _facts(path: InputPath) -> Table:
    setting, setup = path.setting, path.setup()
    files_per_s = setting.samples_per_s * (1 - setting.cached_share) / setting.file_samples
    exhausted = path.exhausted_machines
    never = "never: each machine has its own" if setting.local else "never: the readers bring less"
    return Table(
        {
            "busy": f"{format_gpus(path.gpus_busy(setting.machines))} of {GPUS} GPUs of a machine",
            "waited for": _WAITED.get(path.longest, "nothing"),
            "together": f"{path.samples_per_s(setting.machines):,.0f} samples a second",
            "storage exhausted": never if exhausted is None else f"from {format_count(exhausted, 'machine')}",
            "readers": f"{math.ceil(needed_in_flight(files_per_s, setup.file_s)):,} keep a machine busy",
            "a file takes": format_seconds(setup.file_s),
            "a file has": format_bytes(setting.file_samples * setting.sample_bytes),
        },
        _ORIGIN,
    )


def _step(path: InputPath) -> Bars:
    parts = path.step_parts_s
    return Bars(
        title="Who waits for whom in a step",
        origin=_ORIGIN,
        label=f"a step of {BATCH:,} samples on each machine: "
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


def _by_machines(path: InputPath) -> Lines:
    setting, exhausted = path.setting, path.exhausted_machines
    marked = exhausted if exhausted is not None and exhausted <= MACHINES[-1] else None
    busy = [path.gpus_busy(machines) for machines in MACHINES]
    here = setting.machines, path.gpus_busy(setting.machines)
    where = f"; storage exhausted from {format_count(marked, 'machine')}" if marked else ""
    return Lines(
        title="Busy GPUs of a machine, by machines",
        origin=_ORIGIN,
        label=f"here: {format_gpus(here[1])} on {format_count(setting.machines, 'machine')}{where}",
        lines={"busy": Line(MACHINES, busy)},
        x=axis("machines", MACHINES, log=True, at=MACHINES),
        y=axis("busy GPUs", [0, GPUS]),
        here=here,
        notes={(marked, path.gpus_busy(marked)): f"exhausted: {marked:,}"} if marked else None,
    )


def _by_file_samples(path: InputPath) -> Lines:
    setting = path.setting
    busy = [path.gpus_busy(setting.machines, samples) for samples in FILE_SAMPLES]
    here = setting.file_samples, path.gpus_busy(setting.machines)
    return Lines(
        title="Busy GPUs of a machine, by samples in a file",
        origin=_ORIGIN,
        label=f"here: {format_gpus(here[1])} with {format_count(setting.file_samples, 'sample')} in a file",
        lines={"busy": Line(FILE_SAMPLES, busy)},
        x=axis("samples in a file", FILE_SAMPLES, log=True),
        y=axis("busy GPUs", [0, GPUS]),
        here=here,
    )
