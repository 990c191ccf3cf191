"""A plan says how a model lies on a cluster; a cluster says what its devices and links can do."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from course_lib.comm import Link
from course_lib.comm.presets import INFINIBAND_HDR, INFINIBAND_NDR, NVLINK_A100, NVLINK_H100
from course_lib.mesh.coordinates import Mesh
from course_lib.mesh.shape import RECOMPUTE

__all__ = ["A100_CLUSTER", "H100_CLUSTER", "Cluster", "Plan"]


_DATA_OUTERMOST = ("data", "pipeline", "context", "tensor")


@dataclass(frozen=True)
class Cluster:
    """Equal devices in equal nodes, each with a network port of its own.

    Attributes:
        flops_per_s: peak of one device, dense 16-bit. memory_bytes: of one device.
        memory_bytes_per_s: between a device and its own memory.
        inside, outside: links of one device within and between nodes.
        matrix_efficiency: the share of the peak that matrix products reach; the one number that is fitted
            (`fit_matrix_efficiency`, to the ten rows of NARAYANAN_2021).
        attention_slower: by which factor attention's products are slower than all others, such as 2 where those alone
            are done in 8 bits.
    """

    flops_per_s: float
    memory_bytes: float
    memory_bytes_per_s: float
    inside: Link
    outside: Link
    devices_per_node: int = 8
    matrix_efficiency: float = 0.63
    attention_slower: float = 1.0

    def but(self, **changes: Any) -> Cluster:
        """The same with some fields changed."""
        return replace(self, **changes)


@dataclass(frozen=True)
class Plan:
    """Where the model lies, and how a step goes.

    Args:
        micro_batch: sequences. chunks: stages a pipeline rank has (interleaved schedule).
        recompute: one of RECOMPUTE. zero: ZeRO's stage over the copies, 0 to 3; 3 is FSDP.
        sequence_parallel: the tensor dimension cuts norms and dropout along the sequence.
        context: ranks that a sequence is cut over; they share parameters as data ranks do.
        expert: over so many of the copies (data and context ranks) the experts of a layer are dealt out.
        shards: over so many copies side by side ZeRO cuts, and those groups are copies (HSDP); 0: over all.

    Raises:
        ValueError: if a number is less than 1 or not whole, recompute or zero is none of these, or expert or shards do
            not divide the copies.
    """

    tensor: int = 1
    pipeline: int = 1
    data: int = 1
    micro_batch: int = 1
    chunks: int = 1
    recompute: str = "full"
    zero: int = 0
    sequence_parallel: bool = False
    context: int = 1
    expert: int = 1
    shards: int = 0

    def __post_init__(self) -> None:
        names = ("tensor", "pipeline", "data", "micro_batch", "chunks", "context", "expert")
        numbers = tuple(getattr(self, name) for name in names)
        if not all(number >= 1 and number == int(number) for number in numbers):
            raise ValueError(f"{', '.join(names)} must be 1 or more, got {numbers}")
        if self.copies % self.expert:
            raise ValueError(f"expert must divide data × context = {self.copies}, got {self.expert}")
        if self.recompute not in RECOMPUTE or self.zero not in (0, 1, 2, 3):
            raise ValueError(f"recompute must be one of {RECOMPUTE}, zero 0 to 3, got {self.recompute!r}, {self.zero}")
        if self.shards < 0 or self.copies % self.sharded_over:
            raise ValueError(f"shards must divide data × context = {self.copies}, got {self.shards}")

    @property
    def devices(self) -> int:
        """How many it needs."""
        return self.tensor * self.context * self.pipeline * self.data

    @property
    def copies(self) -> int:
        """Ranks that hold the same part of the model, but for its experts."""
        return self.data * self.context

    @property
    def sharded_over(self) -> int:
        """Of these copies, over how many ZeRO cuts."""
        return self.shards or self.copies

    @property
    def mesh(self) -> Mesh:
        """The mesh, tensor innermost, then context; with experts pipeline is outermost, so that copies are near."""
        order = ("pipeline", "data", "context", "tensor") if self.expert > 1 else _DATA_OUTERMOST
        return Mesh(self.data, self.pipeline, self.tensor, order, self.context)

    def expert_group(self, rank: int) -> tuple[int, ...]:
        """The ranks over which the experts of this rank's layers are dealt: of its copies those that are next to it.

        >>> Plan(tensor=2, data=2, context=2, expert=2).expert_group(7)
        (5, 7)
        """
        copies = self.mesh.group_of(rank, "data", "context")
        first = copies.index(rank) // self.expert * self.expert
        return copies[first : first + self.expert]

    def micro_batches(self, batch: int) -> int:
        """How many a data rank takes through its pipeline in a step.

        Raises:
            ValueError: unless data ranks and micro-batches divide the batch.
        """
        if batch % (self.data * self.micro_batch):
            raise ValueError(f"{self.data} data ranks with micro-batches of {self.micro_batch} must divide {batch}")
        return batch // (self.data * self.micro_batch)


# Peak and memory: NVIDIA's data sheets of the A100 and the H100 (SXM, 80 GB); links: course_lib.comm.presets.
A100_CLUSTER = Cluster(312e12, 80e9, 2.039e12, NVLINK_A100, INFINIBAND_HDR)
H100_CLUSTER = Cluster(989e12, 80e9, 3.35e12, NVLINK_H100, INFINIBAND_NDR)
