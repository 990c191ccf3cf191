"""What others measured of storage: an open on a local disk and on a shared file system, requests in flight."""

from __future__ import annotations

from typing import NamedTuple


class FileSystem(NamedTuple):
    """Seconds of an open."""

    open_s: float


# Source: S. Bekman, "Machine Learning Engineering", storage/README, https://github.com/stas00/ml-engineering.
FILE_SYSTEMS = {"local NVMe": FileSystem(11e-6), "Lustre": FileSystem(2.3e-3)}


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


class StorageRun(NamedTuple):
    """Accelerators that only wait (`compute_s` a batch) and one shared storage from which they really read.

    The rules ask for `threshold` of what the accelerators could take; who submits adds accelerators until it is just
    met.
    """

    workload: str
    accelerator: str
    accelerators: int
    batch: int
    compute_s: float
    sample_bytes: float
    samples_per_file: int
    readers: int
    threshold: float
    samples_per_s: float

    @property
    def wanted_per_s(self) -> float:
        """Samples a second that the accelerators could take."""
        return self.accelerators * self.batch / self.compute_s


# Lustre on one DDN AI400X2T with 24 NVMe drives, 16 to 32 clients, MLPerf Storage v1.0, closed division.
# Source: https://github.com/mlcommons/storage_results_v1.0, Closed/DDN/results (ResNet-50: mean of five runs, others:
# run 1, mean of five epochs); workloads: https://github.com/mlcommons/storage, configs/dlio/workload.
MLPERF_STORAGE = (
    StorageRun("ResNet-50", "A100", 864, 400, 0.435, 114_660.07, 1251, 8, 0.90, 723_053.0),
    StorageRun("ResNet-50", "H100", 512, 400, 0.224, 114_660.07, 1251, 8, 0.90, 841_944.0),
    StorageRun("3D U-Net", "H100", 36, 7, 0.323, 146_600_628.0, 1, 4, 0.90, 708.9),
    StorageRun("CosmoFlow", "H100", 64, 1, 0.0035, 2_828_486.0, 1, 4, 0.70, 12_556.6),
)


class FfcvRate(NamedTuple):
    """ImageNet's training pictures in one file of `dataset_bytes`, loaded, cropped and flipped by all cores."""

    source: str
    form: str
    dataset_bytes: float
    images_per_s: float
    images: int = 1_281_167


# FFCV on an AWS p3dn.24xlarge: from memory, and from a disk behind the network (EBS).
# Source: libffcv/ffcv, docs/benchmarks.rst, "Dataset sizes" and "Data loading benchmark results (ImageNet)".
FFCV_RATES = (
    FfcvRate("network disk", "JPEG, 512 px", 65.47e9, 16_631),
    FfcvRate("network disk", "decoded, 512 px", 616.18e9, 1_956),
    FfcvRate("network disk", "decoded, 256 px", 169.79e9, 6_870),
    FfcvRate("memory", "JPEG, 512 px", 65.47e9, 31_278),
    FfcvRate("memory", "decoded, 256 px", 169.79e9, 172_801),
)
