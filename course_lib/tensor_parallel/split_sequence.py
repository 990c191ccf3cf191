"""Attention over a sequence that is split over the ranks: ring attention, and DeepSpeed Ulysses' all-to-all.

In ring attention queries stay, keys and values go round. No rank ever has all keys. Softmax over keys that come in
pieces is computed online: with the largest score so far, the sum of exponentials so far, and the weighted values so
far, rescaled whenever a larger score appears.

Source: Liu, Zaharia and Abbeel, "Ring attention with blockwise transformers", arXiv 2310.01889; Milakov and Gimelshein,
"Online normalizer calculation for softmax", arXiv 1805.02867.

With Ulysses every rank gets all places of some heads, and gives them back.

Source: Jacobs et al., "DeepSpeed Ulysses: system optimizations for enabling training of extreme long sequence
transformer models", arXiv 2309.14509.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import torch
from torch.nn.functional import scaled_dot_product_attention

from course_lib.comm import Communicator
from course_lib.tensor_parallel.operators import exchange_parts


def places_in_order(length: int, world_size: int) -> list[torch.Tensor]:
    """The places of each rank, cut as they come; the first parts are one longer where the ranks do not divide them.

    >>> [part.tolist() for part in places_in_order(8, 2)]
    [[0, 1, 2, 3], [4, 5, 6, 7]]
    """
    return _pieces(length, world_size)


def places_in_zigzag(length: int, world_size: int) -> list[torch.Tensor]:
    """The places of each rank if it has one early and one late piece: under a causal mask all have the same work.

    The same to the pair where twice the ranks divide the length, and nearly so elsewhere.

    >>> [part.tolist() for part in places_in_zigzag(8, 2)]
    [[0, 1, 6, 7], [2, 3, 4, 5]]
    """
    pieces = _pieces(length, 2 * world_size)
    return [torch.cat([pieces[rank], pieces[-1 - rank]]) for rank in range(world_size)]


def _pieces(length: int, count: int) -> list[torch.Tensor]:
    if length < 0 or count < 1:
        raise ValueError(f"there must be 0 or more places and a rank, got {length} places in {count} pieces")
    return list(torch.arange(length).tensor_split(count))


def pairs_per_step(places: Sequence[torch.Tensor]) -> list[list[int]]:
    """For each step of the ring, how many pairs of query and key each rank works on under a causal mask.

    The slowest rank decides how long a step takes.
    """
    size = len(places)

    def pairs(rank: int, owner: int) -> int:
        return int((places[rank].unsqueeze(1) >= places[owner].unsqueeze(0)).sum())

    return [[pairs(rank, (rank - step) % size) for rank in range(size)] for step in range(size)]


class OnlineSoftmax(NamedTuple):
    """Attention over the keys seen so far.

    Attributes:
        largest: [..., t], the largest score. total: [..., t], the sum of exp(score - largest).
        values: [..., t, e], the sum of exp(score - largest) · value.
    """

    largest: torch.Tensor
    total: torch.Tensor
    values: torch.Tensor

    @classmethod
    def of_nothing(cls, q: torch.Tensor) -> OnlineSoftmax:
        """Before any key."""
        return cls(q.new_full(q.shape[:-1], -torch.inf), q.new_zeros(q.shape[:-1]), torch.zeros_like(q))

    def with_keys(self, scores: torch.Tensor, v: torch.Tensor) -> OnlineSoftmax:  # [..., t, s], [..., s, e]
        """After more keys; a score of -inf is a key that is not seen."""
        largest = torch.maximum(self.largest, scores.amax(-1))
        shift = largest.nan_to_num(neginf=0.0)  # a query that has seen no key yet
        rescale = (self.largest - shift).exp()
        weights = (scores - shift.unsqueeze(-1)).exp()
        total = self.total * rescale + weights.sum(-1)
        return OnlineSoftmax(largest, total, self.values * rescale.unsqueeze(-1) + weights @ v)

    @property
    def result(self) -> torch.Tensor:
        """The attention: [..., t, e]."""
        return self.values / self.total.unsqueeze(-1)


def _scores(q: torch.Tensor, k: torch.Tensor, places: torch.Tensor, key_places: torch.Tensor) -> torch.Tensor:
    """Scaled products of queries and keys, -inf where the key comes after the query."""
    later = (key_places.unsqueeze(0) > places.unsqueeze(1)).to(q.device)
    return (q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])).masked_fill(later, -torch.inf)


def _turn(comm: Communicator, tensors: Sequence[torch.Tensor], coming: int) -> list[torch.Tensor]:
    """Send these to the right neighbor, and return what the left one has sent: tensors of `coming` places."""
    right, left = (comm.rank + 1) % comm.world_size, (comm.rank - 1) % comm.world_size
    boxes = [tensor.new_empty(*tensor.shape[:-2], coming, tensor.shape[-1]) for tensor in tensors]
    with comm.batch():
        sent = [comm.isend(tensor.contiguous(), right) for tensor in tensors]
        received = [comm.irecv(box, left) for box in boxes]
    for work in (*received, *sent):
        work.wait()
    return boxes


def seen_on_a_ring(
    comm: Communicator, q: torch.Tensor, travelling: list[torch.Tensor], places: Sequence[torch.Tensor]
) -> OnlineSoftmax:
    """What this rank's queries have seen when all keys and values have come by; the last turn would bring its own."""
    seen = OnlineSoftmax.of_nothing(q)
    for step in range(comm.world_size):
        owner = (comm.rank - step) % comm.world_size
        keys, values = travelling
        if len(places[owner]):
            seen = seen.with_keys(_scores(q, keys, places[comm.rank], places[owner]), values)
        if step < comm.world_size - 1:
            travelling = _turn(comm, travelling, len(places[owner - 1]))
    return seen


class _RingAttention(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, comm: Communicator, places: Any) -> Any:
        seen = seen_on_a_ring(comm, q, [k.detach().contiguous(), v.detach().contiguous()], places)
        ctx.comm, ctx.places = comm, places
        ctx.save_for_backward(q, k, v, seen.result, seen.largest + seen.total.log())
        return seen.result

    @staticmethod
    def backward(ctx: Any, *grads: torch.Tensor) -> tuple[Any, ...]:
        """Keys and values go round once more, and their gradients with them, which go one step further, home."""
        comm = ctx.comm
        places = ctx.places
        grad = grads[0]
        q, k, v, result, log_total = ctx.saved_tensors
        inner = (grad * result).sum(-1, keepdim=True)  # what every weight's gradient is measured from
        q_grad = torch.zeros_like(q)
        travelling = [k.contiguous(), v.contiguous(), torch.zeros_like(k), torch.zeros_like(v)]
        for step in range(comm.world_size):
            keys, values, k_grad, v_grad = travelling
            owner = (comm.rank - step) % comm.world_size
            weights = (_scores(q, keys, places[comm.rank], places[owner]) - log_total.unsqueeze(-1)).exp()
            scores_grad = weights * (grad @ values.transpose(-2, -1) - inner) / math.sqrt(q.shape[-1])
            q_grad += scores_grad @ keys
            k_grad += scores_grad.transpose(-2, -1) @ q
            v_grad += weights.transpose(-2, -1) @ grad
            if step < comm.world_size - 1:
                travelling = _turn(comm, travelling, len(places[owner - 1]))
        if comm.world_size > 1:
            k_grad, v_grad = _turn(comm, [k_grad, v_grad], len(places[comm.rank]))
        return q_grad, k_grad, v_grad, None, None


def ring_attention(
    comm: Communicator, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, places: Sequence[torch.Tensor]
) -> torch.Tensor:  # [b, h, t / p, e] each -> [b, h, t / p, e]
    """Causal attention of this rank's queries to all ranks' keys; `places[r]` are the places of rank r's part.

    Parts may be uneven, or empty. Keys and values go p - 1 steps round the ring, once forward and once backward; in the
    backward pass their gradients go with them, and one step further: 6 p - 4 parts sent by each rank. What has 16 bits
    is widened to fp32, in which sums are made, and the result rounded once, as in torch's attention; under autocast all
    three are rounded to its dtype before.

    Raises:
        ValueError: unless each rank has places, as many as its queries, keys and values have.
    """
    lengths = {"places": len(places[comm.rank]) if len(places) == comm.world_size else -1}
    lengths |= {name: part.shape[-2] for name, part in {"q": q, "k": k, "v": v}.items()}
    if len(set(lengths.values())) > 1:
        wanted = f"places for each of {comm.world_size} ranks, as many as this one's part has"
        raise ValueError(
            f"there must be {wanted}, got places for {len(places)} ranks, and on rank {comm.rank} {lengths}"
        )
    kind, dtype = q.device.type, q.dtype
    if torch.is_autocast_enabled(kind) and dtype != torch.float64:
        dtype = torch.get_autocast_dtype(kind)
    with torch.autocast(kind, enabled=False):
        if dtype.itemsize >= 4:
            return _RingAttention.apply(q, k, v, comm, places)
        wide = [each.to(dtype).float() for each in (q, k, v)]
        return _RingAttention.apply(*wide, comm, places).to(dtype)


def exchanged_attention(
    comm: Communicator, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor
) -> torch.Tensor:  # [b, h, t / p, e] each -> [b, h, t / p, e]
    """Causal attention of this rank's queries to all ranks' keys, cut as they come: rank r has the r-th part.

    Args:
        comm: the ranks among which the sequence is cut.
        q: this rank's places of all heads.
        k: the same of the keys; they may have fewer heads, each for as many heads of the queries.
        v: the same of the values.

    Returns:
        This rank's places, as `q` has them. Its backward pass is the same exchange once more.

    Raises:
        ValueError: unless the ranks divide the heads of each of them.

    Cost: four all-to-alls, in each of which a rank sends all of its part but 1/p.
    """
    heads = [part.shape[1] for part in (q, k, v)]
    if any(count % comm.world_size for count in heads):
        raise ValueError(f"{comm.world_size} ranks must divide the heads, got {heads} of queries, keys and values")
    q, k, v = (_heads_here(comm, part) for part in (q, k, v))
    return _places_here(comm, scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True))


def _heads_here(comm: Communicator, x: torch.Tensor) -> torch.Tensor:  # [b, h, t / p, e] -> [b, h / p, t, e]
    return torch.cat(list(exchange_parts(comm, torch.stack(x.chunk(comm.world_size, 1)))), 2)


def _places_here(comm: Communicator, x: torch.Tensor) -> torch.Tensor:  # [b, h / p, t, e] -> [b, h, t / p, e]
    return torch.cat(list(exchange_parts(comm, torch.stack(x.chunk(comm.world_size, 2)))), 1)
