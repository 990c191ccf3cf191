"""What the storage explorer computes: a step's parts on one and on many nodes, and where the storage is exhausted."""

from __future__ import annotations

from bisect import bisect_left
from functools import cached_property
from typing import NamedTuple

from course_lib.storage import FILE_SYSTEMS, LIMITS, MLPERF_STORAGE, NVME_SCAN, CentralStorage, InputSetup

__all__ = ["BATCH", "FILE_SAMPLES", "GRADIENTS", "NODES", "STORAGES", "InputPath", "StorageSetting"]

NODES = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024)
FILE_SAMPLES = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000)
# All-reduced in a step of so many samples on each node.
BATCH = 1024
GRADIENTS = {"none": 0.0, "ResNet-50, 102 MB": 102e6, "VGG-16, 553 MB": 553e6}
_LOCAL = "NVMe in each node"
_SHARED_LIMITS = ("metadata", "storage bandwidth")
_MAX_NODES = 10**6

_NVME = max((scan for scan in NVME_SCAN if scan.kind == "read"), key=lambda scan: scan.requests_per_s)
# All of them published. NVMe: opens, and the fastest scan; a small file is a request. Lustre: opens, and the most that
# MLPerf Storage's runs have had of bytes and of opens. Object store: Amazon S3, one prefix, "at least 5,500" GETs a
# second, "roughly 100-200 ms", "multiple terabits per second", of which we take two.
# Source: Amazon S3 User Guide, "Best practices design patterns: optimizing Amazon S3 performance".
STORAGES = {
    "Lustre": CentralStorage(
        "Lustre",
        FILE_SYSTEMS["Lustre"].open_s,
        max(run.samples_per_s / run.samples_per_file for run in MLPERF_STORAGE),
        max(run.samples_per_s * run.sample_bytes for run in MLPERF_STORAGE),
    ),
    "object store": CentralStorage("object store", 0.15, 5500, 2e12 / 8),
    _LOCAL: CentralStorage(_LOCAL, FILE_SYSTEMS["local NVMe"].open_s, _NVME.requests_per_s, _NVME.mib_per_s * 2**20),
}


class StorageSetting(NamedTuple):
    """All that the controls say. `samples_per_s` is what the devices of one node take; with `watched` a request's way
    stands in place of the curves, at a step."""

    nodes: int
    samples_per_s: float
    sample_bytes: float
    storage: str
    file_samples: int
    cached_share: float
    readers: int
    gradients: str
    link_bytes_per_s: float
    watched: bool = False
    step: int = 0

    @property
    def local(self) -> bool:
        """Whether every node has a storage of its own."""
        return self.storage == _LOCAL


class InputPath:
    """What follows from a setting."""

    def __init__(self, setting: StorageSetting) -> None:
        self.setting = setting

    def limits(self, nodes: int, file_samples: int | None = None) -> dict[str, float]:
        """Samples a second of all nodes, as each of LIMITS alone would have it."""
        setting = self.setting
        storage = STORAGES[setting.storage]
        setup = InputSetup(
            storage,
            setting.sample_bytes,
            batch=BATCH,
            compute_s=BATCH / setting.samples_per_s,
            gradient_bytes=GRADIENTS[setting.gradients],
            link_bytes_per_s=setting.link_bytes_per_s,
            samples_per_file=file_samples or setting.file_samples,
            readers=setting.readers,
            cached_share=setting.cached_share,
        )
        if not setting.local:
            return setup.limits(nodes)
        # A disk of its own: as many storages as nodes, samples come from the disk, and the link has the gradients only.
        alone = setup.but(link_bytes_per_s=storage.bytes_per_s, gradient_bytes=0).limits(1)
        links = setup.but(cached_share=1.0).limits(nodes)["links"]
        return {name: nodes * limit for name, limit in alone.items()} | {"links": links}

    def samples_per_s(self, nodes: int, file_samples: int | None = None) -> float:
        """What all nodes train when everything overlaps."""
        return min(self.limits(nodes, file_samples).values())

    @cached_property
    def step_parts_s(self) -> dict[str, float]:
        """What each part takes of a step of all nodes, if nothing else held it up."""
        nodes = self.setting.nodes
        return {name: nodes * BATCH / limit for name, limit in self.limits(nodes).items()}

    @cached_property
    def longest(self) -> str:
        """The part that all others wait for."""
        return max(LIMITS, key=self.step_parts_s.__getitem__)

    @property
    def busy_share(self) -> float:
        """How much of the time the devices compute."""
        return self.step_parts_s["devices"] / self.step_parts_s[self.longest]

    @cached_property
    def exhausted_nodes(self) -> int | None:
        """The fewest nodes that want more of the storage than it has for all; None: more than a million, or never."""
        if self.setting.local:
            return None

        def exhausted(nodes: int) -> bool:
            limits = self.limits(nodes)
            return min(limits, key=limits.__getitem__) in _SHARED_LIMITS

        if exhausted(1):  # alone a node sends no gradients; from two on, more nodes always want more
            return 1
        found = bisect_left(range(2, _MAX_NODES + 1), True, key=exhausted) + 2
        return found if found <= _MAX_NODES else None
