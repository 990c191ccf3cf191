"""Recurrent networks: the time axis of one stream does not split, independent streams of text do.

    time split     rank 0 | t h e _ c |  h→   rank 1 | a t _ s a |  h→   rank 2 | t _ d o w |     each waits for h
    streams split  rank 0 | t h e _ c | a t _ s a | t _ d o w |     window after window, its own h carried along
                   rank 1 | n . _ A _ | d o g _ b | a r k e d |     and nobody waits for anybody's h

A window's state h is carried into the next one, but no gradient comes back: truncated back-propagation through time.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

import torch
from torch import nn
from torch.nn import functional

from course_lib.checks import at_least
from course_lib.collectives import ring_all_reduce
from course_lib.comm import Communicator
from course_lib.data_parallel.averaging import average_gradients_in_buckets, batch_share
from course_lib.data_parallel.sharding import split_batch


class CharacterModel(nn.Module):
    """Predicts each next character from those before it: an embedding, a GRU and a linear layer."""

    def __init__(self, alphabet_size: int, hidden: int = 32) -> None:
        super().__init__()
        self.embedding = nn.Embedding(alphabet_size, hidden)
        self.gru = nn.GRU(hidden, hidden, batch_first=True)
        self.output = nn.Linear(hidden, alphabet_size)

    def first_state(self, streams: int) -> torch.Tensor:  # [1, streams, hidden]
        """The state before the first character: zeros."""
        return self.output.weight.new_zeros(1, streams, self.gru.hidden_size)

    def forward(self, codes: torch.Tensor, state: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Scores of each next character and the last state: [streams, time] -> [streams, time, alphabet]."""
        outputs, state = self.gru(self.embedding(codes), state)
        return self.output(outputs), state


def parallel_streams(codes: torch.Tensor, streams: int) -> torch.Tensor:  # [characters] -> [streams, length]
    """The text in `streams` equal pieces, each read from its own beginning; what is left over is dropped.

    Raises:
        ValueError: unless each stream gets at least one character.

    >>> parallel_streams(torch.arange(7), 2).tolist()
    [[0, 1, 2], [3, 4, 5]]
    """
    if not 1 <= streams <= len(codes):
        raise ValueError(f"streams must be from 1 to the text's {len(codes)} characters, got {streams}")
    length = len(codes) // streams
    return codes[: streams * length].view(streams, length)


def windows(streams: torch.Tensor, window: int) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
    """Yield (inputs, targets), both [streams, window], one window after the other: a target is the next character.

    What is left over at the end, or has no next character, is dropped.

    Raises:
        ValueError: if `window` is less than 1.

    >>> [(inputs.tolist(), targets.tolist()) for inputs, targets in windows(torch.arange(6).view(1, 6), 2)]
    [([[0, 1]], [[1, 2]]), ([[2, 3]], [[3, 4]])]
    """
    at_least(1, window=window)
    for start in range(0, streams.shape[1] - window, window):
        yield streams[:, start : start + window], streams[:, start + 1 : start + window + 1]


def train_on_streams(
    comm: Communicator,
    model: CharacterModel,
    streams: torch.Tensor,
    *,
    window: int,
    rate: float = 0.5,
    steps: int | None = None,
) -> tuple[list[float], CharacterModel]:
    """The loss of every window, the mean over all ranks' streams, and the trained model, which is the same everywhere.

    Rank r reads its part of the streams [streams, length] and makes the states of those alone; gradients are averaged.
    So the weights are those of one process that reads all streams, for any number of ranks.

    Raises:
        ValueError: if there are fewer streams than ranks, or a stream has no whole window and a character after it.

    Source: R. Williams and J. Peng, "An efficient gradient-based algorithm for on-line training of recurrent network
    trajectories", Neural Computation 2(4), 1990 (truncated back-propagation through time).
    """
    if len(streams) < comm.world_size:
        raise ValueError(f"{comm.world_size} ranks must have a stream each, got {len(streams)}")
    if streams.shape[1] <= window:
        raise ValueError(f"streams must be longer than a window of {window}, got {streams.shape[1]} characters")
    own = split_batch(streams, comm.world_size)[comm.rank]
    optimizer = torch.optim.SGD(model.parameters(), lr=rate)
    state, losses = model.first_state(len(own)), []
    for inputs, targets in islice(windows(own, window), steps):
        scores, state = model(inputs, state.detach())  # the state goes on, its gradient does not go back
        loss = functional.cross_entropy(scores.transpose(1, 2), targets)
        optimizer.zero_grad()
        loss.backward()
        average_gradients_in_buckets(comm, model, examples=len(own))
        optimizer.step()
        losses.append(loss.item())
    mean = torch.tensor(losses, dtype=torch.float64) * batch_share(comm, len(own))
    ring_all_reduce(comm, mean)
    return mean.tolist(), model


def time_split_gradient(
    comm: Communicator,
    model: CharacterModel,
    inputs: torch.Tensor,
    targets: torch.Tensor,
    *,
    relay: str = "both",
    pieces: int = 1,
    seconds_per_character: float = 1.0,
) -> torch.Tensor:
    """The gradient of all parameters, in one row, where every rank holds one stretch of the time axis.

    Args:
        inputs, targets: [streams, time], all of it on every rank; time is split in equal parts.
        relay: what crosses the borders: "both" the state and, backward, its gradient; "forward" the state alone;
            "none" nothing: each stretch begins with zeros.
        pieces: the streams go through in so many pieces, one after the other: a pipeline.
        seconds_per_character: what a character of all streams costs forward; backward it costs twice as much.

    Raises:
        ValueError: if there are fewer characters than ranks or streams than pieces, or `relay` is another word.

    Cost: "both" with one piece keeps one rank at a time busy, so the time is that of one rank that does it all, plus
    the messages; with m equal pieces on p ranks it is (m + p - 1) / (m p) of that.
    """
    _refuse_split(inputs, comm.world_size, relay, pieces)
    left, right = comm.rank - 1, comm.rank + 1
    part, wanted = (tensor.tensor_split(comm.world_size, dim=1)[comm.rank] for tensor in (inputs, targets))
    passes = []
    for codes, goal in zip(part.tensor_split(pieces), wanted.tensor_split(pieces), strict=True):
        state = model.first_state(len(codes))
        if left >= 0 and relay != "none":
            comm.recv(state, left)
        comm.compute(seconds_per_character * codes.numel() / len(inputs), label="forward")
        scores, last_state = model(codes, state.requires_grad_())
        if right < comm.world_size and relay != "none":
            comm.send(last_state.detach(), right)
        loss = functional.cross_entropy(scores.transpose(1, 2), goal) * (codes.numel() / inputs.numel())
        passes.append((state, loss, last_state))
    for state, loss, last_state in passes:
        from_right = torch.zeros_like(last_state)
        if right < comm.world_size and relay == "both":
            comm.recv(from_right, right)
        comm.compute(2 * seconds_per_character * part.shape[1] * state.shape[1] / len(inputs), label="backward")
        torch.autograd.backward([loss, last_state], [None, from_right])
        if left >= 0 and relay == "both":
            comm.send(state.grad, left)
    gradient = torch.cat([parameter.grad.flatten() for parameter in model.parameters()])
    ring_all_reduce(comm, gradient)
    return gradient


def _refuse_split(inputs: torch.Tensor, ranks: int, relay: str, pieces: int) -> None:
    if relay not in ("both", "forward", "none"):
        raise ValueError(f'relay must be "both", "forward" or "none", got {relay!r}')
    if inputs.shape[1] < ranks:
        raise ValueError(f"{ranks} ranks must have a character each, got {inputs.shape[1]}")
    if not 1 <= pieces <= len(inputs):
        raise ValueError(f"pieces must be from 1 to {len(inputs)} streams, got {pieces}")
