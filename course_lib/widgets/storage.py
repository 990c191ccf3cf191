"""The storage explorer: machines, samples, a storage, and what stands between them."""

from __future__ import annotations

import math
from bisect import bisect_left
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from course_lib.draw.colors import COLORS
from course_lib.draw.panels import Bars, Line, Lines, Sketch, Table, axis
from course_lib.draw.units import format_bytes, format_count, format_seconds
from course_lib.storage import FILE_SYSTEMS, LIMITS, NVME_SCAN, CentralStorage, InputSetup, needed_in_flight
from course_lib.widgets.controls import disable, menu, scale, step_slider
from course_lib.widgets.settings import EVERY, SteppedExplorer, control
from course_lib.widgets.storage_way import way_pictures, way_steps

MACHINES = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024)
FILE_SAMPLES = (1, 2, 5, 12, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000)
GPUS = 8  # of each machine
BATCH = 8 * 400  # samples of a step, on each machine
LOCAL = "NVMe in each machine"
_SHARED_LIMITS = ("opens", "bandwidth")
_MAX_MACHINES = 10**6

_NVME = max((scan for scan in NVME_SCAN if scan.kind == "read"), key=lambda scan: scan.requests_per_s)
# Lustre as on the page: an open is published, the limits of the servers are assumed. NVMe: published opens, and the
# fastest published scan; a small file is a request. Object store: Amazon S3, "roughly 100-200 ms", "multiple terabits
# per second", of which we take two. The opens that a shared one answers are a control; these are where it begins.
# Source: Amazon S3 User Guide, "Best practices design patterns: optimizing Amazon S3 performance".
STORAGES = {
    "Lustre": CentralStorage("Lustre", FILE_SYSTEMS["Lustre"].open_s, 20_000, 100e9),
    "object store": CentralStorage("object store", 0.15, 20_000, 2e12 / 8),
    LOCAL: CentralStorage(LOCAL, FILE_SYSTEMS["local NVMe"].open_s, _NVME.requests_per_s, _NVME.mib_per_s * 2**20),
}


_RATES = [100, 200, 500, 1000, 2000, 5000, 10_000, 20_000, 50_000, 100_000]
_OPENS = [digit * 10**power for power in (3, 4, 5) for digit in (1, 2, 5)]
_READERS = [1, 2, 4, 8, 16, 34, 64, 128, 256, 512, 1024, 2048, 4096]
_CACHED = [0.0, 0.25, 0.5, 0.75, 0.9, 1.0]
_SIZES = [digit * 10**power for power in range(3, 9) for digit in (1, 2, 5)]


def _samples(count: int) -> str:
    return f"{count:,} sample{'s' if count > 1 else ''}"


@dataclass(frozen=True)
class StorageSetting:
    """All that the controls say. `samples_per_s` is what the GPUs of one machine take; with `watched` a request's way
    stands in place of the curves, at a step."""

    machines: int = control(1, scale, "machines", MACHINES, book=[1, 16, 128])
    readers: int = control(1, scale, "readers of each", _READERS, show="{:,}".format, book=[1, 34])
    file_samples: int = control(1, scale, "in a file", FILE_SAMPLES, show=_samples, book=[1, 12, 200])
    cached_share: float = control(0.0, scale, "in a cache", _CACHED, show="{:.0%}".format, book=[0.0, 0.5])
    storage: str = control("Lustre", menu, "storage", list(STORAGES))
    opens_per_s: float = control(20_000, scale, "opens/s of all", _OPENS, show="{:,}".format)
    samples_per_s: float = control(
        14_286, scale, "samples/s of each", _RATES, show="{:,}".format, about="what the GPUs of one machine take"
    )
    sample_bytes: float = control(114_660, scale, "sample", _SIZES, show=format_bytes)
    watched: bool = control(False, menu, "watch", {"a step": False, "one request": True}, book=EVERY)
    step: int = control(0, step_slider, "step", book=EVERY)

    @property
    def local(self) -> bool:
        """Whether every machine has a storage of its own."""
        return self.storage == LOCAL


class InputPath:
    """What follows from a setting."""

    def __init__(self, setting: StorageSetting) -> None:
        self.setting = setting

    def setup(self, file_samples: int | None = None) -> InputSetup:
        """The setting as the chapter's model has it."""
        setting, storage = self.setting, STORAGES[self.setting.storage]
        if not setting.local:
            storage = CentralStorage(storage.name, storage.open_s, setting.opens_per_s, storage.bytes_per_s)
        return InputSetup(
            storage,
            setting.sample_bytes,
            setting.samples_per_s,
            samples_per_file=file_samples or setting.file_samples,
            readers=setting.readers,
            cached_share=setting.cached_share,
        )

    def limits(self, machines: int, file_samples: int | None = None) -> dict[str, float]:
        """Samples a second of all machines, as each of LIMITS alone would have it."""
        setup = self.setup(file_samples)
        if not self.setting.local:
            return setup.limits(machines)
        return {name: machines * limit for name, limit in setup.limits(1).items()}  # as many storages as machines

    def samples_per_s(self, machines: int, file_samples: int | None = None) -> float:
        """What all machines train when everything overlaps."""
        return min(self.limits(machines, file_samples).values())

    def gpus_busy(self, machines: int, file_samples: int | None = None) -> float:
        """How many of a machine's GPUs compute, on average."""
        return GPUS * self.samples_per_s(machines, file_samples) / (machines * self.setting.samples_per_s)

    @cached_property
    def step_parts_s(self) -> dict[str, float]:
        """What each part takes of a step of all machines, if nothing else held it up."""
        machines = self.setting.machines
        return {name: machines * BATCH / limit for name, limit in self.limits(machines).items()}

    @cached_property
    def longest(self) -> str:
        """The part that all others wait for."""
        return max(LIMITS, key=self.step_parts_s.__getitem__)

    @cached_property
    def exhausted_machines(self) -> int | None:
        """The fewest machines that want more of the storage than it has; None: more than a million, or never."""
        if self.setting.local:
            return None

        def exhausted(machines: int) -> bool:
            limits = self.limits(machines)
            return min(limits, key=limits.__getitem__) in _SHARED_LIMITS

        found = bisect_left(range(1, _MAX_MACHINES + 1), True, key=exhausted) + 1
        return found if found <= _MAX_MACHINES else None


# The pictures of the storage explorer: a step's parts, and busy GPUs by machines and by samples in a file.

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


class StorageExplorer(SteppedExplorer):
    """How many of a machine's eight GPUs are busy, by the model of chapter 11: computed. Or one request's way through
    the storage, which play shows."""

    Setting = StorageSetting
    no_steps = "nothing is fetched, for all samples are in a cache"

    @staticmethod
    def pictures(setting: StorageSetting) -> list[str | Table | Bars | Lines | Sketch]:
        """All that is shown of a setting."""
        path = InputPath(setting)
        if setting.watched and setting.cached_share < 1:
            return [*way_pictures(path), _step(path)]
        return [describe_input(path), _facts(path), _step(path), _by_machines(path), _by_file_samples(path)]

    def prepare(self) -> None:
        """A machine's own disk has its own limit."""
        disable(self.controls["opens_per_s"], self.controls["storage"].value == LOCAL, "each machine has a disk")
        super().prepare()

    def steps(self, setting: StorageSetting) -> int:
        """Of a request's way."""
        return way_steps(InputPath(setting))

    def before_playing(self, setting: StorageSetting) -> dict[str, Any]:
        """Watch one request."""
        return {} if setting.watched else {"watched": True}
