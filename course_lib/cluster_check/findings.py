"""Findings of a check: their severity, a sentence, and the row of the page of symptoms that fits."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

PROBLEM, NOTE = "problem", "note"  # a training would not start or hang; it would run, slower or with less

# Rows of notebooks/symptoms.md: the table, and the cause as the row has it.
ADDRESS = "Cluster: A wrong address, a closed port, the wrong network interface"
ABSENT = "Cluster: Fewer processes came than the world size says"
FEWER = "It hangs: A collective that not all ranks call, or a message without its other side."
ONE_DIED = "It dies: One rank died, and the others noticed."
SHARED_MEMORY = "Data: Workers, or NCCL, use shared memory, and a container has little of it"
LINK = "It is slow: The link between them is slower, the wrong dimension crosses it, or messages go over TCP."
SLOW_ONE = "It is slow: One slow rank, or one slow link."
THREADS = "It is slow: Each starts as many threads as there are cores"
PORT = "Cluster: Another run has the port, or what is left of one."
RANKS = "Set-up: Started by `python` and not by `torchrun`"
DEVICE = "Set-up: Two ranks chose the same device, most often device 0"
LIMITS = "Cluster: A limit of the process or of its container: open files, threads, or locked memory."
VERSIONS = "Set-up: Versions do not fit: of libraries, of CUDA and its driver, of machines (or NCCL's variables)"


class ClusterFinding(NamedTuple):
    """One thing that is not as it should be.

    Attributes:
        level: `PROBLEM` or `NOTE`.
        words: what was found, and what to do.
        symptom: the row of the page of symptoms, its table and its cause.
    """

    level: str
    words: str
    symptom: str

    def __str__(self) -> str:
        return f"{self.level}: {self.words}\n    See symptoms.md, {self.symptom}"


class CheckError(Exception):
    """The check cannot go on; `findings` say why."""

    def __init__(self, findings: Iterable[ClusterFinding]) -> None:
        self.findings = list(findings)
        super().__init__("\n".join(str(one) for one in self.findings))
