"""Averaging gradients after the backward pass: parameter by parameter, or in buckets.

A rank's loss is the mean over its own n examples, and the joined batch's the mean over all N. Then

    gradient of the joined batch  =  sum over ranks of  n/N × gradient of the rank

so each rank's gradient is multiplied by its share n/N before the sum. Equal parts all have the share 1/world_size.

With a SyncBatchNorm that is too late: its backward pass has added up the ranks' gradients already. There each rank
multiplies its *loss* by n/N × world_size, and gradients are averaged as if parts were equal. So uneven shares are
refused where a module has one.

Where there is no gradient a rank sends −0.0, for a sum is −0.0 only if all that was added is: so a parameter that no
rank has used is known without another message. It keeps no gradient, as in one process, and no weight decay moves it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import nn

from course_lib.checks import at_least
from course_lib.collectives import ring_all_reduce
from course_lib.comm import Communicator
from course_lib.comm.collective import all_reduce_named
from course_lib.comm.group import groups_of, mark_part
from course_lib.data_parallel.batch_norm import SyncBatchNorm
from course_lib.data_parallel.buckets import BUCKET_BYTES, bucket_name, bucket_plan, bucket_views, numbered

__all__ = [
    "average_gradients",
    "average_gradients_in_buckets",
    "batch_share",
    "first_places",
    "forget_unused",
    "mark_used",
    "parameter_names",
    "pass_weight",
    "refuse_late_weighing",
    "scale_gradient",
    "trained_parameters",
]


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
    """Return if gradients of the module may be weighed by this share.

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
    """Where in their row the gradients begin, of those that have an element."""
    return torch.tensor([view.storage_offset() for view in views if view.numel()], dtype=torch.int64)


def mark_used(row: torch.Tensor, places: torch.Tensor) -> None:
    """Make a −0.0 with which a gradient begins, if it does, to 0.0: this rank has one."""
    if len(places) and not row.is_meta:
        flat = row.view(-1)
        flat[places] = flat[places] + 0.0


def forget_unused(row: torch.Tensor, places: torch.Tensor, parameters: Sequence[nn.Parameter]) -> None:
    """Take the averaged gradient away from the parameters for which no rank had one: all of it is −0.0.

    One that only begins so was rounded to that, as by a compression.

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
    """What the module calls its parameters."""
    return {parameter: name for name, parameter in module.named_parameters()}
