"""Two ways to train a layer whose neurons are shared out, and how far each of them speeds up.

Every rank has some of the n neurons and the weights that lead into them. Backward, the error of an input is a sum over
all neurons that it feeds, and these lie on all ranks.

- **once**: every weight lies on one rank. The ranks exchange their parts of those sums, n numbers each.
- **twice**: every rank also keeps the weights that lead *out of* its inputs, so it needs only the n errors of all
  neurons to have its sums by itself. The price: every weight is updated in two places, and takes memory twice.

Source: the two ways are from the neural network simulators of the early 1990s: Yoon, Nang and Maeng, "Parallel
simulation of multilayered neural networks on distributed-memory multiprocessors", Microprocessing and
Microprogramming 29(3), 1990; Müller and Gunzinger, "Neural net simulation on parallel computers", IEEE ICNN 1994.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch

from course_lib.checks import at_least
from course_lib.collectives import all_gather, reduce_scatter
from course_lib.comm import Communicator, Network

WAYS = ("once, sums gathered", "once, sums reduced", "twice")


@dataclass(frozen=True)
class NeuronLayer:
    """A layer of `neurons` with as many inputs, trained on one example at a time."""

    neurons: int = 100
    multiply_add_s: float = 1e-7
    rate: float = 1.0


def train_neurons(
    comm: Communicator, way: str, layer: NeuronLayer, weight: torch.Tensor, x: torch.Tensor, y_grad: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """One step of plain gradient descent. Gives this rank's rows of the new weight, and the errors of its inputs.

    Args:
        weight: [n, n], row i leads into neuron i. x: [n] inputs and y_grad: [n] errors of the neurons, of which each
            rank uses its own part. The ranks must divide n.
    """
    rows, ranks = weight.tensor_split(comm.world_size)[comm.rank].clone(), comm.world_size
    work_s = layer.neurons**2 / ranks * layer.multiply_add_s
    inputs = _gathered(comm, x.tensor_split(ranks)[comm.rank])
    comm.compute(work_s, "forward")  # the outputs of this rank's neurons: rows @ inputs
    own_error = y_grad.tensor_split(ranks)[comm.rank]
    if way == "twice":
        columns = weight.tensor_split(ranks, 1)[comm.rank].clone()
        errors = _gathered(comm, own_error)
        comm.compute(work_s, "backward")
        x_error = columns.T @ errors
        comm.compute(work_s, "update")
        columns -= layer.rate * torch.outer(errors, inputs.tensor_split(ranks)[comm.rank])
    else:
        comm.compute(work_s, "backward")
        x_error = _summed(comm, way, rows.T @ own_error)
    comm.compute(work_s, "update")
    rows -= layer.rate * torch.outer(own_error, inputs)
    return rows, x_error


def _gathered(comm: Communicator, part: torch.Tensor) -> torch.Tensor:
    """All ranks' parts, end to end."""
    whole = part.new_empty(part.numel() * comm.world_size)
    all_gather(comm, whole.chunk(comm.world_size), part.contiguous())
    return whole


def _summed(comm: Communicator, way: str, partial_sums: torch.Tensor) -> torch.Tensor:
    """This rank's part of the sum of all ranks' rows: by way of everybody's whole rows, or added up on the way."""
    if way == "once, sums gathered":
        table = _gathered(comm, partial_sums).view(comm.world_size, -1)
        return table.tensor_split(comm.world_size, 1)[comm.rank].sum(0)
    mine = partial_sums.new_empty(partial_sums.numel() // comm.world_size)
    reduce_scatter(comm, mine, partial_sums.chunk(comm.world_size))
    return mine


def training_seconds(way: str, layer: NeuronLayer, world_size: int, network: Network, element_bytes: int = 4) -> float:
    """Time of `train_neurons`, exact where the ranks divide the neurons; additions of partial sums are not counted.

    >>> training_seconds("once, sums reduced", NeuronLayer(), 1, Network())
    0.003
    """
    if way not in WAYS:
        raise ValueError(f"way must be one of {', '.join(WAYS)}, got {way!r}")
    at_least(1, world_size=world_size)
    n, p = layer.neurons, world_size
    passes = 4 if way == "twice" else 3
    numbers = [n / p, n if way == "once, sums gathered" else n / p]  # in each message of the two exchanges
    messages_s = sum(network.latency_s + count * element_bytes / network.bytes_per_s for count in numbers)
    return passes * n**2 / p * layer.multiply_add_s + (p - 1) * messages_s
