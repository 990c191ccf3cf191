"""The asynchronous server in the words of torch.distributed.rpc: workers call a function that runs on the server.

RPC sends functions by name, so they live in a module that every process can import.

Source: PyTorch documentation, "Distributed RPC Framework".
"""

from __future__ import annotations

import threading

import torch
from torch.distributed import rpc

from course_lib.tasks import Classifier, digit_batches

TASK = Classifier()


class RpcServer:
    """What the server's process holds; calls come on several threads, so a lock keeps each update whole."""

    parameters = TASK.initial()
    updates = 0
    lock = threading.Lock()


def push_and_pull(gradient: torch.Tensor, rate: float) -> torch.Tensor:
    """On the server: apply a gradient at once; the new parameters travel back as the answer."""
    with RpcServer.lock:
        RpcServer.parameters = RpcServer.parameters - rate * gradient
        RpcServer.updates += 1
        return RpcServer.parameters


def rpc_work(rank: int, pushes: int, rate: float, server: str = "rank0") -> None:
    """On a worker: compute a gradient, call the server with it, go on with what comes back."""
    parameters, examples = TASK.initial(), digit_batches(32, rank=rank)
    for _ in range(pushes):
        gradient = TASK.gradient(parameters, *next(examples))
        parameters = rpc.rpc_sync(server, push_and_pull, args=(gradient, rate))
