"""A product beside the steps of a ring: the part of a sequence that is here is multiplied while it travels on.

A column-parallel product needs the whole sequence, and the sum behind a row-parallel one needs the whole product:
between a cut layer and its collective nothing hides. But a product of the whole is a product of each part, and a ring
brings one part at a time. This is asynchronous tensor parallelism. Each of the two is the other's backward pass.

Source: Wang et al., "Overlap communication with dependent computation via decomposition in large deep learning models",
ASPLOS 2023; PyTorch's fused_all_gather_matmul and fused_matmul_reduce_scatter (torch.distributed._symmetric_memory).
"""

from __future__ import annotations

from typing import Any

import torch
from torch.nn.functional import linear

from course_lib.checks import at_least
from course_lib.comm import Communicator, Network


def products_beside_a_gather(
    comm: Communicator, part: torch.Tensor, weight: torch.Tensor, product_s: float = 0.0
) -> tuple[list[torch.Tensor], list[torch.Tensor]]:
    """Every rank's part of the sequence, and its product, in the order of the ranks.

    Args:
        comm: the ranks among which the sequence and the rows of the weight are cut.
        part: [b, t / p, d], this rank's part; all are equally long.
        weight: [o / p, d], this rank's rows.
        product_s: how long the product of the whole sequence takes on a clock that is slowed or virtual.
    """
    right, left = (comm.rank + 1) % comm.world_size, (comm.rank - 1) % comm.world_size
    parts, products = [part] * comm.world_size, [part] * comm.world_size
    for step in range(comm.world_size):
        here, coming = (comm.rank - step) % comm.world_size, (comm.rank - step - 1) % comm.world_size
        turn = []
        if step < comm.world_size - 1:
            parts[coming] = torch.empty_like(part)
            with comm.batch():
                turn = [comm.isend(parts[here], right), comm.irecv(parts[coming], left)]
        products[here] = linear(parts[here], weight)
        comm.compute(product_s / comm.world_size, "product")
        for work in turn:
            work.wait()
    return parts, products


def products_beside_a_sum(
    comm: Communicator, parts: list[torch.Tensor], weight: torch.Tensor, product_s: float = 0.0
) -> torch.Tensor:
    """The sum over ranks of the product of this rank's part of the sequence.

    Args:
        comm: the ranks among which the inputs are cut.
        parts: [b, t / p, i / p] each, the whole sequence in p equal parts, of this rank's inputs.
        weight: [o, i / p], this rank's columns.
        product_s: how long the product of the whole sequence takes on a clock that is slowed or virtual.
    """
    right, left = (comm.rank + 1) % comm.world_size, (comm.rank - 1) % comm.world_size

    def addend(step: int) -> torch.Tensor:
        product = linear(parts[(comm.rank - step - 1) % comm.world_size], weight)
        comm.compute(product_s / comm.world_size, "product")
        return product

    total = addend(0)
    for step in range(1, comm.world_size):
        others = torch.empty_like(total)
        with comm.batch():
            turn = [comm.isend(total, right), comm.irecv(others, left)]
        mine = addend(step)
        for work in turn:
            work.wait()
        total = mine + others
    return total


class _GatherProduct(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, part: torch.Tensor, weight: torch.Tensor, comm: Communicator, product_s: float) -> Any:
        parts, products = products_beside_a_gather(comm, part.detach().contiguous(), weight, product_s)
        ctx.save_for_backward(torch.cat(parts, 1), weight)
        ctx.comm, ctx.product_s = comm, product_s
        return torch.cat(products, 1)

    @staticmethod
    def backward(ctx: Any, *grads: torch.Tensor) -> Any:
        whole, weight = ctx.saved_tensors
        parts = list(grads[0].chunk(ctx.comm.world_size, 1))
        part_grad = products_beside_a_sum(ctx.comm, parts, weight.T, ctx.product_s)
        ctx.comm.compute(ctx.product_s, "gradient of the weight")
        return part_grad, grads[0].flatten(0, 1).T @ whole.flatten(0, 1), None, None


class _ProductScatter(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, weight: torch.Tensor, comm: Communicator, product_s: float) -> Any:
        ctx.save_for_backward(x, weight)
        ctx.comm, ctx.product_s = comm, product_s
        return products_beside_a_sum(comm, list(x.detach().chunk(comm.world_size, 1)), weight, product_s)

    @staticmethod
    def backward(ctx: Any, *grads: torch.Tensor) -> Any:
        x, weight = ctx.saved_tensors
        parts, products = products_beside_a_gather(ctx.comm, grads[0].contiguous(), weight.T, ctx.product_s)
        ctx.comm.compute(ctx.product_s, "gradient of the weight")
        return torch.cat(products, 1), torch.cat(parts, 1).flatten(0, 1).T @ x.flatten(0, 1), None, None


def gather_product(
    comm: Communicator, part: torch.Tensor, weight: torch.Tensor, product_s: float = 0.0
) -> torch.Tensor:  # [b, t / p, d], [o / p, d] -> [b, t, o / p]
    """The whole sequence times this rank's rows of a weight; no part waits for the gather to end.

    Args:
        comm: the ranks among which the sequence and the rows are cut.
        part: this rank's part of the sequence; all parts are equally long.
        weight: this rank's rows.
        product_s: how long the whole product takes on a clock that is slowed or virtual; backward there are two.

    Returns:
        This rank's outputs for all places. Its backward pass is `product_scatter`, with the weight turned over.

    Cost: the steps and bytes of a ring's all-gather, p - 1 steps of one part.
    """
    return _GatherProduct.apply(part, weight, comm, product_s)


def product_scatter(
    comm: Communicator, x: torch.Tensor, weight: torch.Tensor, product_s: float = 0.0
) -> torch.Tensor:  # [b, t, i / p], [o, i / p] -> [b, t / p, o]
    """This rank's part of the sequence of the sum of all ranks' products; a part is multiplied while a sum travels.

    Args:
        comm: the ranks among which the inputs are cut.
        x: all places of this rank's inputs.
        weight: this rank's columns.
        product_s: how long the whole product takes on a clock that is slowed or virtual; backward there are two.

    Returns:
        This rank's part of the sequence. Its backward pass is `gather_product`, with the weight turned over.

    Raises:
        ValueError: unless the ranks divide the sequence.

    Cost: the steps and bytes of a ring's reduce-scatter, p - 1 steps of one part.
    """
    if x.shape[1] % comm.world_size:
        raise ValueError(f"{comm.world_size} ranks must divide the sequence, got {x.shape[1]} places")
    return _ProductScatter.apply(x, weight, comm, product_s)


def overlapped_seconds(network: Network, *, world_size: int, part_bytes: float, product_s: float) -> float:
    """The time of either: a step takes as long as the product of a part or its message, whichever is longer.

    One after the other they take `product_s` and p - 1 messages. So each of p - 1 steps hides the shorter of the two,
    and all messages are hidden where multiplying a part takes as long as sending it.

    >>> network = Network(latency_s=0.5, bytes_per_s=10)
    >>> overlapped_seconds(network, world_size=4, part_bytes=5, product_s=8)  # a message 1 s, a product of a part 2 s
    8.0
    >>> overlapped_seconds(network, world_size=4, part_bytes=25, product_s=8)  # a message 3 s
    11.0
    """
    at_least(1, world_size=world_size)
    message_s = network.latency_s + part_bytes / network.bytes_per_s
    return product_s / world_size + (world_size - 1) * max(product_s / world_size, message_s)
