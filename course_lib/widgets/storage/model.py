"""What the storage explorer computes: a step by its parts, busy GPUs, and where the storage is exhausted."""

from __future__ import annotations

from bisect import bisect_left
from functools import cached_property
from typing import NamedTuple

from course_lib.storage import FILE_SYSTEMS, LIMITS, NVME_SCAN, CentralStorage, InputSetup

__all__ = ["BATCH", "FILE_SAMPLES", "GPUS", "LOCAL", "MACHINES", "STORAGES", "InputPath", "StorageSetting"]

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


class StorageSetting(NamedTuple):
    """All that the controls say. `samples_per_s` is what the GPUs of one machine take; with `watched` a request's way
    stands in place of the curves, at a step."""

    machines: int
    samples_per_s: float
    sample_bytes: float
    storage: str
    opens_per_s: float
    file_samples: int
    cached_share: float
    readers: int
    watched: bool = False
    step: int = 0

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
