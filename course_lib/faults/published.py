"""How often large trainings really failed, as published."""

from __future__ import annotations

from typing import NamedTuple

from course_lib.checks import at_least, positive


class FailedTraining(NamedTuple):
    """A training, how long it was watched, and how often it failed in that time."""

    gpus: int
    days: float
    failures: int

    @property
    def mtbf_s(self) -> float:
        """Mean seconds between two failures of the whole training."""
        return self.days * 86_400 / self.failures

    @property
    def gpu_mtbf_years(self) -> float:
        """Mean years between two failures to which one GPU and its share of the rest contribute."""
        return self.mtbf_s * self.gpus / (365.25 * 86_400)


# Source: A. Grattafiori et al., "The Llama 3 herd of models", arXiv 2407.21783, 2024, section 3.3.4 and Table 5:
# unexpected interruptions in 54 days, on up to 16,384 GPUs; more than 90 % of the time was effective training time.
LLAMA_3 = FailedTraining(gpus=16_384, days=54, failures=419)
LLAMA_3_CAUSES = {
    "faulty GPU": 148,
    "GPU HBM3 memory": 72,
    "software bug": 54,
    "network switch or cable": 35,
    "host maintenance": 32,
    "GPU SRAM": 19,
    "GPU system processor": 17,
    "network card": 7,
    "NCCL watchdog timeout": 7,
    "silent data corruption": 6,
    "GPU thermal interface or sensor": 6,
    "SSD": 3,
    "power supply": 3,
    "server chassis": 2,
    "IO board": 2,
    "dependency": 2,
    "CPU": 2,
    "system memory": 2,
}

# At least 35 manual restarts and, as the authors estimate, more than 70 automatic ones, in two months on 992 GPUs.
# Source: S. Zhang et al., "OPT: open pre-trained transformer language models", arXiv 2205.01068, 2022, section 2.5.
OPT_175B = FailedTraining(gpus=992, days=60, failures=35 + 70)

# Failures per node and day of Meta's two research clusters, 8 GPUs a node; mean hours to failure of jobs by their
# GPUs, as measured, and as the authors project them from RSC-1's rate.
# Source: A. Kokolis et al., "Revisiting reliability in large-scale machine learning research clusters", HPCA 2025,
# arXiv 2410.21680.
META_CLUSTERS = {"RSC-1": 6.50e-3, "RSC-2": 2.34e-3}
META_JOB_MTTF_H = {8: 47.7 * 24, 1024: 7.9}
META_PROJECTED_MTTF_H = {16_384: 1.8, 131_072: 0.23}


def job_mtbf_s(gpus: int, failures_per_node_day: float, gpus_per_node: int = 8) -> float:
    """Mean seconds between failures of a job that any failing node ends: the nodes' rates add up.

    >>> round(job_mtbf_s(16_384, META_CLUSTERS["RSC-1"]) / 3600, 1)
    1.8
    """
    at_least(1, gpus=gpus, gpus_per_node=gpus_per_node)
    positive(failures_per_node_day=failures_per_node_day)
    return 86_400 / (gpus / gpus_per_node * failures_per_node_day)
