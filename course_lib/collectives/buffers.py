"""Buffers of the collectives: flat views of tensors, chunks, and the one place where numbers are added up."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from course_lib.comm import Communicator

_OPS = ("sum", "mean", "max")


def flatten(tensor: torch.Tensor, op: str | None = None) -> torch.Tensor:
    """The tensor's own memory as one row, apart from autograd; without an `op` it is only carried.

    Raises:
        ValueError: if `tensor` has gaps in memory, or if `op` is not "sum", "mean" or "max".
        TypeError: if `tensor` is no tensor, or if `op` cannot be had in its dtype.
    """
    if not isinstance(tensor, torch.Tensor):
        raise TypeError(f"a collective works on a torch.Tensor, got {type(tensor).__name__}")
    if not tensor.is_contiguous():
        raise ValueError(f"a collective needs a tensor that is contiguous in memory, got strides {tensor.stride()}")
    if op is None:
        return tensor.detach().view(-1)
    if op not in _OPS:
        raise ValueError(f'op must be "sum", "mean" or "max", got {op!r}')
    dtype, wanting = tensor.dtype, {"mean": not tensor.dtype.is_floating_point, "max": tensor.dtype.is_complex}
    if dtype == torch.bool or wanting.get(op):
        raise TypeError(f'op "{op}" cannot be had in {dtype}: convert the tensor first, say with .float()')
    return tensor.detach().view(-1)


def begin(tensor: torch.Tensor, op: str, comm: Communicator, copy: bool = False) -> torch.Tensor:
    """The tensor's own memory as one row, or a copy, ready for `combine`; errors as `flatten` has them.

    For a mean it is divided before it is added up, so that the sum is finite where the mean is: by a power of two,
    which rounds nothing but numbers beside 0. `finish` does the rest.
    """
    flat = flatten(tensor, op)
    flat = flat.clone() if copy else flat
    return flat.div_(_first_divisor(comm)) if op == "mean" and not flat.is_meta else flat


def _first_divisor(comm: Communicator) -> int:
    """The smallest power of two that is not below the number of ranks."""
    return 1 << (comm.world_size - 1).bit_length()


def combine(op: str, into: torch.Tensor, incoming: torch.Tensor, comm: Communicator) -> None:
    """Add `incoming` to `into` (or keep the larger numbers); takes reduce_s_per_byte where the network says so.

    "mean" adds too: `begin` and `finish` divide.
    """
    if not into.is_meta:
        if op == "max":
            torch.maximum(into, incoming, out=into)
        else:
            into.add_(incoming)
    if comm.network is not None and comm.network.reduce_s_per_byte:
        comm.compute(into.nbytes * comm.network.reduce_s_per_byte, label="add")


def finish(op: str, total: torch.Tensor, comm: Communicator) -> None:
    """Make the sum over all ranks of what `begin` gave a mean if that is what was asked for."""
    if op == "mean" and not total.is_meta:
        total.div_(comm.world_size / _first_divisor(comm))


def exchange(comm: Communicator, outgoing: torch.Tensor, dst: int, incoming: torch.Tensor, src: int) -> None:
    """Send to one rank while receiving from another (or the same), and wait for both."""
    sent = comm.isend(outgoing, dst)
    comm.recv(incoming, src)
    sent.wait()


def split(flat: torch.Tensor, parts: int) -> list[torch.Tensor]:
    """The chunks that `tensor_split` cuts, as views.

    Meta chunks of one length are one object, for nothing tells them apart: a thousand ranks then need two thousand
    views, not a million.
    """
    if not flat.is_meta:
        return list(flat.tensor_split(parts))
    length, longer = divmod(flat.numel(), parts)
    return [flat[: length + 1]] * longer + [flat[:length]] * (parts - longer)


def flatten_chunks(
    comm: Communicator, chunks: Sequence[torch.Tensor] | None, op: str | None = None
) -> list[torch.Tensor]:
    """One flat view for each rank's chunk; without an `op` they are only carried.

    Raises:
        ValueError: if there is not one chunk for each rank, or if a chunk has gaps in memory.
    """
    count = None if chunks is None else len(chunks)
    if chunks is None or count != comm.world_size:
        raise ValueError(f"rank {comm.rank} needs one chunk for each of the {comm.world_size} ranks, got {count}")
    return [flatten(chunk, op) for chunk in chunks]


def keep(into: torch.Tensor, flat: torch.Tensor) -> None:
    """Copy a rank's own chunk, which crosses no wire, and be as strict as the wire.

    Raises:
        ValueError: if the two differ in dtype or length.
    """
    if into.dtype != flat.dtype or into.numel() != flat.numel():
        texts = [f"{tensor.numel()} elements of {tensor.dtype}" for tensor in (flat, into)]
        raise ValueError(f"a rank's own chunk of {texts[0]} does not fit into {texts[1]}")
    if not into.is_meta:
        into.copy_(flat)


def inboxes(chunks: Sequence[torch.Tensor]) -> list[torch.Tensor]:
    """For each chunk a view of its length to receive it into; all are views of one buffer."""
    lengths = [chunk.numel() for chunk in chunks]
    buffer = chunks[0].new_empty(max(lengths))
    views = {length: buffer[:length] for length in set(lengths)}
    return [views[length] for length in lengths]


def powers_of_two(limit: int) -> list[int]:
    """1, 2, 4, ... below `limit`.

    >>> powers_of_two(8), powers_of_two(9), powers_of_two(1)
    ([1, 2, 4], [1, 2, 4, 8], [])
    """
    return [1 << k for k in range((limit - 1).bit_length())]


def check_rank(comm: Communicator, rank: int, name: str) -> None:
    """Raise ValueError unless `rank` is one of the communicator's ranks."""
    if not isinstance(rank, int) or not 0 <= rank < comm.world_size:
        raise ValueError(f"{name} must be a rank from 0 to {comm.world_size - 1}, got {rank!r}")
