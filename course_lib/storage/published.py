"""What others measured of storage: an open on a local disk and on a shared file system, requests in flight."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["COPY_SMALL_FILES", "IMPORT_TORCH", "NVME_SCAN", "FileSystem", "SmallFiles", "NvmeScan", "FILE_SYSTEMS"]


class FileSystem(NamedTuple):
    """Seconds of an open that succeeds, and of one that finds nothing."""

    open_s: float
    failed_open_s: float | None


# Source: S. Bekman, "Machine Learning Engineering", storage/README, https://github.com/stas00/ml-engineering.
FILE_SYSTEMS = {"local NVMe": FileSystem(11e-6, None), "Lustre": FileSystem(2.3e-3, 1.1e-3)}


class SmallFiles(NamedTuple):
    """Something that touches many files: how many opens succeed and fail, and seconds on each file system."""

    opens: int
    failed_opens: int
    seconds: dict[str, float]


# Source: as above. The first row's seconds are those that the source computes of its opens, the second's are measured.
IMPORT_TORCH = SmallFiles(2339 - 922, 922, {"local NVMe": 0.018, "Lustre": 4.27})
COPY_SMALL_FILES = SmallFiles(13_019, 0, {"local NVMe": 2.03, "Lustre": 155.9})


class NvmeScan(NamedTuple):
    """4 KiB requests of 16 jobs, each with 64 requests in flight, on a Samsung SSD 980 PRO, direct, 3 minutes each."""

    file_bytes: int
    kind: str
    latency_s: float
    mib_per_s: float
    requests_per_s: int
    in_flight: int = 16 * 64


# Source: as above, section "fio", and storage/fio-scan (December 2023).
NVME_SCAN = (
    NvmeScan(16 << 10, "read", 4.0e-3, 1006.3, 257_614),
    NvmeScan(16 << 10, "write", 3.2e-3, 1239.1, 317_200),
    NvmeScan(1 << 20, "read", 1.7e-3, 2400.1, 614_419),
    NvmeScan(1 << 20, "write", 2.1e-3, 1940.5, 496_765),
    NvmeScan(1 << 30, "read", 1.4e-3, 2762.0, 707_062),
    NvmeScan(1 << 30, "write", 2.1e-3, 1943.9, 497_638),
)
