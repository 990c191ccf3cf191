"""The communicator for NCCL, where sends and receives must start together as one batch."""

from __future__ import annotations

from typing import Any

import torch
import torch.distributed as dist

from course_lib.comm.communicator import Communicator, Started
from course_lib.comm.processes.machine import STREAMED
from course_lib.comm.transport.communicator import ProcessCommunicator, tag_of


def backends_for(backend: str, device: torch.device) -> str:
    """What to give init_process_group: NCCL, and also Gloo, for tensors on the CPU and for objects.

    >>> backends_for("nccl", torch.device("cuda")), backends_for("gloo", torch.device("cuda"))
    ('cpu:gloo,cuda:nccl', 'gloo')
    """
    return f"cpu:gloo,{device.type}:{backend}" if backend in STREAMED else backend


def meet(backend: str, device: torch.device) -> None:
    """Wait for all ranks. The first call to NCCL must come from all of them: later ones need only two."""
    if backend in STREAMED:
        dist.all_reduce(torch.zeros(1, device=device))
        torch.accelerator.current_stream().synchronize()
    dist.barrier()


class BatchedCommunicator(ProcessCommunicator):
    """Collects isend and irecv and starts them as one `batch_isend_irecv` when the rank first waits, or at the end of
    a `batch()`.

    NCCL runs the operations of one stream in order: a send that waits for its receiver would hold back the receive
    behind it. In a batch they run at once. Tensors on the CPU, such as the barrier's, go over Gloo without a batch.

    NCCL tells no streams of messages apart either, so a function that `start` gets runs at once and to its end: its
    messages are among the program's, and nothing overlaps.

    Source: PyTorch documentation, torch.distributed, `batch_isend_irecv`.
    """

    __slots__ = ("_carrier", "_collected", "batches", "streams")

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._carrier = dist.Backend.default_device_backend_map.get(self.device.type, "gloo")
        self.streams = self.device.type != "cpu"  # whether what waits must wait for the device, too
        self._collected: list[tuple[dist.P2POp, _Collected]] = []
        self.batches = 0  # in how many of them it is

    @property
    def in_order(self) -> bool:
        return True

    def batch(self) -> _Batch:
        return _Batch(self)

    def hand_over(self, kind: str, tensor: torch.Tensor, peer: int | None) -> tuple[Any, torch.Tensor]:
        handle = _Collected(self)
        if tensor.device.type != self.device.type:
            handle.works = [super().hand_over(kind, tensor, peer)[0]]
            handle.waits_with_others = True
            return handle, tensor
        if peer is None:
            raise ValueError(
                "NCCL cannot receive from anyone: name the sender, or let both sides use tensors of the CPU, which "
                "Gloo carries"
            )
        self.log.carriers[self._carrier] += kind == "send" and tensor.numel() > 0
        start = dist.isend if kind == "send" else dist.irecv
        operation = dist.P2POp(start, tensor.detach(), peer, tag=tag_of(self._channel, self._started))
        self._collected.append((operation, handle))
        return handle, tensor

    def _run_started(self, work: Started) -> None:
        self._unjoined.append(work)
        Communicator._run_started(self, work)

    def start_collected(self) -> None:
        """Start all operations collected so far as one batch."""
        if not self._collected:
            return
        operations = [operation for operation, _ in self._collected]
        handles = [handle for _, handle in self._collected]
        self._collected = []
        works = dist.batch_isend_irecv(operations)
        one_each = len(works) == len(handles)  # NCCL returns a single handle for the whole batch
        for number, handle in enumerate(handles):
            handle.works = [works[number]] if one_each else works


class _Batch:
    """A stretch at the end of which what has been collected starts; inside another one it adds nothing."""

    def __init__(self, comm: BatchedCommunicator) -> None:
        self._comm = comm

    def __enter__(self) -> None:
        self._comm.batches += 1

    def __exit__(self, *_: object) -> None:
        self._comm.batches -= 1
        if not self._comm.batches:
            self._comm.start_collected()


class _Collected:
    """Stands for an operation that has perhaps not started yet."""

    def __init__(self, comm: BatchedCommunicator) -> None:
        self._comm = comm
        self.works: list[dist.Work] | None = None
        self.waits_with_others = False  # while the rank waits for it, what has been collected must be on its way

    def wait(self) -> None:
        if self.works is None or self.waits_with_others:
            self._comm.start_collected()
        for work in self.works or ():
            work.wait()
        if self._comm.streams:
            torch.accelerator.current_stream().synchronize()
