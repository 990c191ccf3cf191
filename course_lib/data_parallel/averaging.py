"""Averaging gradients after the backward pass: parameter by parameter, or in buckets that share an all-reduce.

A rank's loss is the mean over its own n examples, and the joined batch's the mean over all N. Then

    gradient of the joined batch  =  sum over ranks of  n/N × gradient of the rank

so each rank's gradient is multiplied by its share n/N before the sum. Equal parts all have the share 1/world_size.

With a SyncBatchNorm that is too late: its backward pass has added up the ranks' gradients already. There each rank
multiplies its *loss* by n/N × world_size, and gradients are averaged as if parts were equal. So uneven shares are
refused where a module has one.

Unused parameters are detected without another message: a rank that has no gradient for a parameter sends −0.0, and a
sum is −0.0 only if every addend is. A parameter that no rank has used keeps no gradient, as in one process, so no
weight decay moves it.

Buckets are planned before any gradient is there:

registered        w0   b0   w1   b1   w2   b2
backward makes                         b2, w2, b1, w1, b0, w0      the last layer's first
buckets                               [b2 w2] [b1 w1] [b0 w0]      each leaves when its last gradient is there
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import torch
from torch import nn

from course_lib.checks import at_least
from course_lib.collectives import ring_all_reduce
from course_lib.comm import Communicator
from course_lib.comm.collective import all_reduce_named
from course_lib.comm.group import groups_of, mark_part
from course_lib.data_parallel.batch_norm import SyncBatchNorm

BUCKET_BYTES = 25 << 20


class Bucket(NamedTuple):
    """Gradients that share one all-reduce.

    Attributes:
        numbers: the parameters in it, by their place in the module, in the order in which gradients are expected.
        message_bytes: their bytes together.
    """

    numbers: tuple[int, ...]
    message_bytes: int


def bucket_plan(parameters: Sequence[torch.Tensor], bucket_bytes: int = BUCKET_BYTES) -> list[Bucket]:
    """Which gradients travel together, bucket by bucket in the order in which backward completes them.

    Parameters are taken from the last to the first, as backward makes their gradients. A bucket is closed as soon as
    it holds `bucket_bytes`, and holds one dtype on one device. With `bucket_bytes` 1 every parameter has its own.

    Raises:
        ValueError: if `bucket_bytes` is less than 1.

    Source: Li et al., "PyTorch Distributed: experiences on accelerating data parallel training", VLDB 13(12), 2020,
    section 3.2.

    >>> bucket_plan([torch.empty(length) for length in (30, 5, 10, 4)], bucket_bytes=50)
    [Bucket(numbers=(3, 2), message_bytes=56), Bucket(numbers=(1, 0), message_bytes=140)]
    """
    at_least(1, bucket_bytes=bucket_bytes)
    closed: list[Bucket] = []
    filling: dict[tuple[torch.dtype, torch.device], Bucket] = {}
    for number in reversed(range(len(parameters))):
        parameter = parameters[number]
        kind = parameter.dtype, parameter.device
        numbers, message_bytes = filling.pop(kind, Bucket((), 0))
        bucket = Bucket((*numbers, number), message_bytes + parameter.nbytes)
        if bucket.message_bytes >= bucket_bytes:
            closed.append(bucket)
        else:
            filling[kind] = bucket
    return sorted([*closed, *filling.values()], key=lambda bucket: bucket.numbers[-1], reverse=True)


def bucket_views(bucket: Bucket, parameters: Sequence[torch.Tensor]) -> tuple[torch.Tensor, list[torch.Tensor]]:
    """New memory for a bucket: one flat tensor, and for each of its gradients a view of it in the parameter's shape.

    >>> flat, views = bucket_views(Bucket((1, 0), 40), [torch.empty(2, 3), torch.empty(4)])
    >>> flat.shape, [tuple(view.shape) for view in views]
    (torch.Size([10]), [(4,), (2, 3)])
    """
    members = [parameters[number] for number in bucket.numbers]
    flat = members[0].new_empty(sum(member.numel() for member in members)).detach()
    pieces = flat.split([member.numel() for member in members])
    return flat, [piece.view(member.shape) for piece, member in zip(pieces, members, strict=True)]


def numbered(row: torch.Tensor, number: int | None) -> torch.Tensor:
    """The row, labeled with its number among a step's rows: a compressor keeps what it left out by that number.

    >>> number_of(numbered(torch.zeros(2), 3)), number_of(torch.zeros(2))
    (3, None)
    """
    row.__dict__["row_number"] = number
    return row


def bucket_name(number: int, names: Sequence[str]) -> str:
    """What a bucket's all-reduce is called, by the parameters in it.

    >>> bucket_name(0, ["2.bias", "2.weight", "0.bias"]), bucket_name(1, ["0.weight"])
    ('bucket 0 (2.bias to 0.bias)', 'bucket 1 (0.weight)')
    """
    at_least(1, parameters=len(names))
    return f"bucket {number} ({names[0]}{f' to {names[-1]}' if len(names) > 1 else ''})"


def number_of(row: torch.Tensor) -> int | None:
    """The label that `numbered` gave the row; None if it has none."""
    return row.__dict__.get("row_number")


def average_gradients(
    comm: Communicator,
    module: nn.Module,
    examples: int | None = None,
    all_reduce: Callable[..., None] = ring_all_reduce,
) -> None:
    """Leave on every rank the gradient of the joined batch, with one all-reduce for each parameter.

    A parameter without a gradient here counts as zeros, so that no rank waits for another in vain; it has one after,
    unless no rank has.

    Args:
        examples: how many examples this rank's loss is the mean of (all ranks say it); None: all have equally many.

    Raises:
        ValueError: if a gradient is sparse, if the numbers of examples cannot be (see `batch_share`), or if they are
            uneven and the module has a SyncBatchNorm.
    """
    share = batch_share(comm, examples)
    refuse_late_weighing(comm, module, share)
    names = parameter_names(module)
    for number, parameter in enumerate(trained_parameters(module)):
        averaged = torch.empty_like(parameter, memory_format=torch.contiguous_format).detach()
        _fill(averaged, [averaged], [parameter], share)
        all_reduce_named(comm, all_reduce, numbered(averaged, number), names[parameter])
        forget_unused(averaged, first_places([averaged]), [parameter])


def average_gradients_in_buckets(
    comm: Communicator,
    module: nn.Module,
    examples: int | None = None,
    all_reduce: Callable[..., None] = ring_all_reduce,
    bucket_bytes: int = BUCKET_BYTES,
) -> None:
    """Leave on every rank the gradient of the joined batch, with one all-reduce for each bucket.

    Arguments as for `average_gradients`. Gradients are views of their bucket afterwards.
    """
    share = batch_share(comm, examples)
    refuse_late_weighing(comm, module, share)
    parameters, names = trained_parameters(module), parameter_names(module)
    for place, bucket in enumerate(bucket_plan(parameters, bucket_bytes)):
        flat, views = bucket_views(bucket, parameters)
        members = [parameters[number] for number in bucket.numbers]
        _fill(flat, views, members, share)
        all_reduce_named(comm, all_reduce, numbered(flat, place), bucket_name(place, [names[each] for each in members]))
        forget_unused(flat, first_places(views), members)


def _fill(row: torch.Tensor, views: Sequence[torch.Tensor], parameters: Sequence[nn.Parameter], share: float) -> None:
    """Move the gradients, weighed, into their row."""
    used = []
    for parameter, view in zip(parameters, views, strict=True):
        used += [view] if parameter.grad is not None and share else []
        scale_gradient(parameter, share, out=view)
        parameter.grad = view
    mark_used(row, first_places(used))


def batch_share(comm: Communicator, examples: int | None) -> float:
    """This rank's part of the joined batch; the shares of all ranks add up to 1.

    Cost: one all-reduce of one number; none if `examples` is None, for then all ranks have equally many.

    Raises:
        ValueError: if `examples` is negative, or 0 on every rank.
    """
    if examples is None:
        return 1 / comm.world_size
    if examples < 0:
        raise ValueError(f"examples must be 0 or more, rank {comm.rank} got {examples}")
    total = torch.tensor([examples])
    ring_all_reduce(comm, total, name="examples")
    if not total:
        raise ValueError("no rank has an example: there is no gradient to average")
    return examples / total.item()


def refuse_late_weighing(comm: Communicator, module: nn.Module, share: float) -> None:
    """Check that gradients of the module may be weighed by this share after the backward pass.

    Raises:
        ValueError: if the share is not 1/world_size and the module has a SyncBatchNorm, ours or PyTorch's, in training.
    """
    even = abs(share * comm.world_size - 1) < 1e-9
    kinds = SyncBatchNorm, nn.SyncBatchNorm
    if not even and any(isinstance(part, kinds) and part.training for part in module.modules()):
        raise ValueError(
            f"rank {comm.rank} has a share of {share:.3g} of the batch: with a SyncBatchNorm weigh the loss, "
            "(loss * share * world_size).backward(), and average gradients as if parts were equal"
        )


def pass_weight(share: float, world_size: int) -> float:
    """What a pass's gradients are multiplied by as they come, if their sum is divided by world_size when it leaves.

    >>> pass_weight(1 / 49, 49), pass_weight(0.75, 2), pass_weight(0.0, 2)
    (1.0, 1.5, 0.0)
    """
    at_least(1, world_size=world_size)
    return 1.0 if share == 1 / world_size else share * world_size


def scale_gradient(parameter: nn.Parameter, share: float, out: torch.Tensor) -> None:
    """Write share × gradient into `out`; −0.0 where there is no gradient or no example.

    Raises:
        ValueError: if the gradient is sparse: ranks would hold other entries, which no dense all-reduce can add.
    """
    gradient = parameter.grad
    mark_part(out, groups_of([parameter, gradient]))
    if gradient is None or share == 0:  # the mean of no examples is not a number, and neither is 0 times it
        out.fill_(-0.0)
    elif gradient.layout != torch.strided:
        shape, layout = list(parameter.shape), gradient.layout
        raise ValueError(f"gradients must be dense, a parameter of shape {shape} has {layout}: use sparse=False")
    else:
        torch.mul(gradient.detach(), share, out=out)


def first_places(views: Sequence[torch.Tensor]) -> torch.Tensor:
    """The offsets in their row at which the gradients begin, leaving out those without elements."""
    return torch.tensor([view.storage_offset() for view in views if view.numel()], dtype=torch.int64)


def mark_used(row: torch.Tensor, places: torch.Tensor) -> None:
    """Mark parameters that this rank used: a gradient's first element becomes 0.0 where it is −0.0."""
    if len(places) and not row.is_meta:
        flat = row.view(-1)
        flat[places] = flat[places] + 0.0


def forget_unused(row: torch.Tensor, places: torch.Tensor, parameters: Sequence[nn.Parameter]) -> None:
    """Set the gradient of unused parameters to None: no rank had one, so all of the sum is −0.0.

    A gradient that only begins with −0.0 was rounded to it, for example by a compressor, and stays.

    Args:
        places: where in the row their gradients begin (`first_places`).
    """
    if not len(places) or row.is_meta:
        return
    unused = _is_negative_zero(row.view(-1)[places])
    if unused.any():
        with_elements = [parameter for parameter in parameters if parameter.numel()]
        for number in unused.nonzero().flatten().tolist():
            gradient = with_elements[number].grad
            if gradient is not None and _is_negative_zero(gradient).all():
                with_elements[number].grad = None


def _is_negative_zero(values: torch.Tensor) -> torch.Tensor:
    values = values.real if values.is_complex() else values
    return (values == 0) & values.signbit()


def trained_parameters(module: nn.Module) -> list[nn.Parameter]:
    """The parameters that want a gradient, each once, in the order in which the module registered them."""
    return [parameter for parameter in module.parameters() if parameter.requires_grad]


def parameter_names(module: nn.Module) -> dict[nn.Parameter, str]:
    """The module's names of its parameters, by parameter."""
    return {parameter: name for name, parameter in module.named_parameters()}
