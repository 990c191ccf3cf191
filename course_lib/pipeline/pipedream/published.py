"""What PipeDream's authors measured. Every number here is published."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple


class PublishedSpeedUp(NamedTuple):
    """One network on one cluster.

    Attributes:
        data_parallel: synchronous data parallelism over one machine ("BSP").
        configuration: machines for each stage of the pipeline.
        pipedream: the pipeline over one machine.
        over_data_parallel: the pipeline over data parallelism.
        communication_saved: share of data parallelism's bytes that the pipeline does without; how the authors count
            them is not said.
    """

    network: str
    machines: int
    cluster: str
    data_parallel: float
    configuration: str
    pipedream: float
    over_data_parallel: float
    communication_saved: float

    @property
    def synchronization_share(self) -> float:
        """The share of data parallel training in which a machine does not compute; computed from the speed-up."""
        return 1 - self.data_parallel / self.machines

    @property
    def pipeline_idle_share(self) -> float:
        """The same of the pipeline."""
        return 1 - self.pipedream / self.machines


# Source: A. Harlap et al., "PipeDream: fast and efficient pipeline parallel DNN training", arXiv 1806.03377, table 1:
# speed-ups in time to the target accuracy, with a batch of 32 a machine for VGG16 and Inception-v3 (section 5.1).
# 2-1-1 and 9-5-1-1 come of the authors' profile on a Titan X, which is not published.
TABLE_1 = (
    PublishedSpeedUp("VGG16", 4, "A", 1.47, "2-1-1", 3.14, 2.13, 0.90),
    PublishedSpeedUp("VGG16", 8, "A", 2.35, "7-1", 7.04, 2.99, 0.95),
    PublishedSpeedUp("VGG16", 16, "A", 3.28, "9-5-1-1", 9.86, 3.00, 0.91),
    PublishedSpeedUp("VGG16", 8, "B", 1.36, "7-1", 6.98, 5.12, 0.95),
    PublishedSpeedUp("Inception-v3", 8, "A", 7.66, "8", 7.66, 1.00, 0.00),
    PublishedSpeedUp("Inception-v3", 8, "B", 4.74, "7-1", 6.88, 1.45, 0.47),
    PublishedSpeedUp("S2VT", 4, "A", 1.10, "2-1-1", 3.34, 3.01, 0.95),
)

# A machine of each cluster, and the bytes per second of its link. Source: the same, section 5.1.
CLUSTERS: Mapping[str, tuple[str, float]] = {"A": ("Titan X", 25e9 / 8), "B": ("V100", 10e9 / 8)}

# Data parallelism's time in communication stalls, "as high as 90%" for some models on 32 GPUs.
# Source: D. Narayanan et al., "PipeDream: generalized pipeline parallelism for DNN training", SOSP 2019, section 1.
WORST_SYNCHRONIZATION_SHARE = 0.90
