"""The same state on all ranks: broadcast at the start, compared by hashes; an optimizer's settings, to be saved."""

from __future__ import annotations

import copy
import hashlib
from collections import defaultdict
from typing import Any

import torch
from torch import nn

from course_lib.collectives import all_gather, broadcast
from course_lib.comm import Communicator

_DIGEST_BYTES = 16


class DisagreementError(RuntimeError):
    """Ranks that should hold the same weights do not."""


def broadcast_state(comm: Communicator, module: nn.Module, src: int = 0) -> None:
    """Give every rank the parameters and buffers of rank `src`, in place.

    Cost: one broadcast for each tensor.
    """
    for name, tensor in _state(module):
        whole = _as_stored(tensor)
        broadcast(comm, _bytes_of(whole), src, name=name)
        if whole is not tensor:
            _without_repeats(tensor).copy_(_without_repeats(whole, like=tensor))


def state_hash(module: nn.Module) -> str:
    """A hash of all parameters and buffers, their bytes, names, shapes and dtypes, as 32 hexadecimal digits.

    The same in every process and on every machine of one byte order. One bit of one weight makes another hash; 0.0
    and -0.0, which are equal, have other bits.

    >>> state_hash(nn.Linear(2, 1)) == state_hash(nn.Linear(2, 1))  # two random starts
    False
    """
    return hashlib.blake2b(b"".join(_digests(module)), digest_size=_DIGEST_BYTES).hexdigest()


def check_agreement(comm: Communicator, module: nn.Module) -> None:
    """Check that all ranks hold the same weights, bit by bit.

    Raises:
        DisagreementError: on every rank, naming the ranks that differ from the largest group, and in which tensors; or
            which tensors are not the same on all ranks.

    Cost: an all-gather of 24 bytes, and one of 16 bytes for each tensor.
    """
    _check_structure(comm, module)
    names = [name for name, _ in _state(module)]
    mine = torch.tensor(list(b"".join(_digests(module))), dtype=torch.uint8)
    everyone = [torch.empty_like(mine) for _ in range(comm.world_size)]
    all_gather(comm, everyone, mine)
    rows = [row.view(len(names), _DIGEST_BYTES) for row in everyone]
    groups = defaultdict(list)
    for rank, row in enumerate(rows):
        groups[bytes(row.flatten().tolist())].append(rank)
    if len(groups) > 1:
        right, *others = sorted(groups.values(), key=len, reverse=True)  # of equals the one with the lowest rank
        raise DisagreementError(_difference(names, rows, right, others))


def _check_structure(comm: Communicator, module: nn.Module) -> None:
    """Refuse modules whose tensors have other names, dtypes or shapes: their hashes could not be compared."""
    text = "\n".join(f"{name} {tensor.dtype} {list(tensor.shape)}" for name, tensor in _state(module)).encode()
    digest = hashlib.blake2b(text, digest_size=_DIGEST_BYTES).digest()
    heads = _gather(comm, len(text).to_bytes(8, "big") + digest)
    if len(set(heads)) == 1:
        return
    longest = max(int.from_bytes(head[:8], "big") for head in heads)
    structures = [set(rest.rstrip(b"\0").decode().split("\n")) for rest in _gather(comm, text.ljust(longest, b"\0"))]
    common = set.intersection(*structures)
    lines = ["the ranks do not hold the same tensors:"]
    for rank, structure in enumerate(structures):
        others = sorted(structure - common)
        more = f" and {len(others) - 3} more" if len(others) > 3 else ""
        lines.append(f"  rank {rank} has {', '.join(others[:3]) or 'only what all have, in some order'}{more}")
    raise DisagreementError("\n".join(lines))


def _gather(comm: Communicator, mine: bytes) -> list[bytes]:
    """The bytes of all ranks, equally many from each."""
    row = torch.tensor(list(mine), dtype=torch.uint8)
    everyone = [torch.empty_like(row) for _ in range(comm.world_size)]
    all_gather(comm, everyone, row)
    return [bytes(each.tolist()) for each in everyone]


def _difference(names: list[str], rows: list[torch.Tensor], right: list[int], others: list[list[int]]) -> str:
    lines = [f"the ranks do not hold the same weights: {_ranks(right)} against"]
    for group in others:
        equal = (rows[group[0]] == rows[right[0]]).all(dim=1).tolist()
        wrong = [name for name, same in zip(names, equal, strict=True) if not same]
        more = f" and {len(wrong) - 3} more" if len(wrong) > 3 else ""
        lines.append(f"  {_ranks(group)}: other numbers in {', '.join(wrong[:3])}{more}")
    return "\n".join(lines)


def _ranks(ranks: list[int]) -> str:
    return ("rank " if len(ranks) == 1 else "ranks ") + ", ".join(map(str, ranks))


def _state(module: nn.Module) -> list[tuple[str, torch.Tensor]]:
    """Parameters and buffers by name, each tensor once, apart from autograd."""
    named = [*module.named_parameters(), *module.named_buffers()]
    return [(name, tensor.detach()) for name, tensor in named]


def _without_repeats(tensor: torch.Tensor, like: torch.Tensor | None = None) -> torch.Tensor:
    """The tensor without its elements (or those of `like`) that share another's memory, as in an expanded one."""
    for axis, stride in enumerate((tensor if like is None else like).stride()):
        if stride == 0 and tensor.shape[axis] > 1:
            tensor = tensor.narrow(axis, 0, 1)
    return tensor


def _as_stored(tensor: torch.Tensor) -> torch.Tensor:
    """The tensor, or where its memory has other numbers (negated, conjugated) or gaps, a copy as it is read."""
    return tensor.resolve_conj().resolve_neg().contiguous()


def _bytes_of(tensor: torch.Tensor) -> torch.Tensor:
    """The tensor's own memory as one row of bytes, whatever its dtype."""
    return tensor.view(-1).view(torch.uint8)


def _digests(module: nn.Module) -> list[bytes]:
    """One digest for each tensor: of its name, dtype, shape and bytes."""
    digests = []
    for name, tensor in _state(module):
        label = f"{name} {tensor.dtype} {tuple(tensor.shape)} ".encode()
        content = _bytes_of(_as_stored(tensor.cpu())).numpy()
        digests.append(hashlib.blake2b(label + content.tobytes(), digest_size=_DIGEST_BYTES).digest())
    return digests


def settings_of(optimizer: torch.optim.Optimizer) -> list[dict[str, Any]]:
    """A copy of each parameter group's settings (the learning rate as schedules changed it, momentum, …).

    >>> settings_of(torch.optim.SGD([torch.zeros(1)], lr=0.5))[0]["lr"]
    0.5
    """
    groups = optimizer.param_groups
    return [{name: copy.deepcopy(value) for name, value in group.items() if name != "params"} for group in groups]


def take_settings(optimizer: torch.optim.Optimizer, settings: list[dict[str, Any]]) -> None:
    """Set each parameter group's settings to a copy of the saved ones.

    Raises:
        ValueError: if the optimizer has another number of groups.
    """
    if len(settings) != len(optimizer.param_groups):
        raise ValueError(f"the optimizer has {len(optimizer.param_groups)} groups, and the saved one {len(settings)}")
    for group, saved in zip(optimizer.param_groups, settings, strict=True):
        group.update(copy.deepcopy(saved))
