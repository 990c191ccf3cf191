"""Buckets: gradients that share one all-reduce, planned before any is there.

registered        w0   b0   w1   b1   w2   b2
backward makes                         b2, w2, b1, w1, b0, w0      the last layer's first
buckets                               [b2 w2] [b1 w1] [b0 w0]      each leaves when its last gradient is there
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import torch

from course_lib.checks import at_least

__all__ = ["BUCKET_BYTES", "Bucket", "bucket_name", "bucket_plan", "bucket_views", "number_of", "numbered"]

BUCKET_BYTES = 25 << 20


class Bucket(NamedTuple):
    """Gradients that travel together.

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
    """The row, which says from now on which of a step's rows it is: an all-reduce that keeps something of it asks.

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
    """Which of a step's rows it is; None if nobody has said so."""
    return row.__dict__.get("row_number")
