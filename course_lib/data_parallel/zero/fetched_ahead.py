"""Fully sharded, with one unit fetched ahead: while a unit computes, the next one's parameters are on their way.

compute   ▕ forward 0 ▏ forward 1 ▏ forward 2 ▏ backward 2 ▏ backward 1 ▏ backward 0 ▏
wire   ▕ 0 ▏ gather 1 ▏ gather 2 ▏             gather 1 ▏   gather 0, reduce 2 ▏ reduce 1 ▏ reduce 0 ▏

This is the idea alone, for modules that feed one another in a row: ZeRO's stage 3 without hooks, where one can read in
which order everything is started. `ShardedParameters` is the same for any module, and fetches nothing ahead.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import nn
from torch.func import functional_call

from course_lib.checks import at_least
from course_lib.collectives import all_gather, reduce_scatter
from course_lib.comm import Communicator, Work
from course_lib.comm.group import mark_part
from course_lib.replay import Replay


class FetchedAhead:
    """A row of modules, of whose parameters each rank keeps a shard. `backward` leaves in each shard its gradient.

    Give every rank the same weights, and the `shards` to an optimizer that treats every number by itself. The modules
    that are given stay as they are. Of a unit nothing is kept but its input until its gradient comes, so its forward
    pass is then repeated, with the same random numbers. One gradient travels while the next is computed. A parameter
    that is not used gets a gradient of zeros. Clip by `clipping.clip_parts_`.

    Attributes:
        shards: for each unit this rank's chunk of its parameters, which lie end to end in one row.
        most_whole: how many units were whole, or on their way, at one time at most: 2, or 1 without `ahead`.

    Args:
        ahead: fetch the next unit while one computes. False: fetch each when it is needed.

    Cost: `backward` sends (p - 1)/p × 3Ψ elements from each of the p ranks, less one all-gather of the last unit.

    Raises:
        ValueError: if there is no unit; if one has buffers, no parameters, some of several dtypes or some that want no
            gradient; if two units share a parameter.
    """

    def __init__(self, comm: Communicator, units: Sequence[nn.Module], *, ahead: bool = True) -> None:
        _refuse_others(units)
        self._comm, self._ahead = comm, ahead
        self._modules = [_shapes_of(unit) for unit in units]
        rows = [torch.cat([each.detach().reshape(-1) for each in unit.parameters()]) for unit in units]
        self._lengths = [len(row) for row in rows]
        self.shards = [row.tensor_split(comm.world_size)[comm.rank].clone().requires_grad_() for row in rows]
        self._rows: dict[int, torch.Tensor] = {}  # of the units that are whole, or on their way
        self._gathers: dict[int, Work] = {}  # what fills them
        self._leaving: Any = None  # a unit, its gradient, and what the owner of a shard gets of it
        self._reduction: Work | None = None  # what sends it
        self.most_whole = 0

    def backward(
        self, inputs: torch.Tensor, loss_of: Callable[[torch.Tensor], torch.Tensor], share: float | None = None
    ) -> torch.Tensor:
        """Both passes over this rank's part of the batch; returns its mean loss.

        Args:
            loss_of: takes the last unit's output and returns the mean loss of this part.
            share: this part's share of the batch; None: parts are equally long.

        Raises:
            ValueError: if a unit changes its input in place, for which reason its forward pass could not be repeated.
            TypeError: if a unit gives anything but one tensor.
        """
        self._forget()
        last, kept = len(self.shards) - 1, list[torch.Tensor]()
        self._replays = [Replay(module, inputs.device) for module in self._modules]
        value = inputs
        for number in range(last + 1):
            self._wait_for(number, then=number + 1)
            kept.append(value)
            with torch.no_grad():
                value = self._first_output(number, value)
            if number < last:  # the backward pass begins with the last one
                self._free(number)
        loss = loss_of(value.requires_grad_())
        (upstream,) = torch.autograd.grad(loss * (1 / self._comm.world_size if share is None else share), value)
        for number in range(last, -1, -1):
            self._wait_for(number, then=number - 1)
            gradient, *below = self._gradients(number, kept.pop(), upstream)
            self._free(number)
            self._end_reduce()
            self._start_reduce(number, gradient)
            upstream = below[0] if below else upstream
        self._end_reduce()
        return loss.detach()

    def _forget(self) -> None:
        """Wait for what a pass that ended with an error has left on its way: the shards may have changed since."""
        for gather in self._gathers.values():
            gather.wait()
        if self._reduction is not None:
            self._reduction.wait()
        self._rows.clear()
        self._gathers.clear()
        self._leaving = self._reduction = None

    def _wait_for(self, number: int, then: int) -> None:
        """Return once a unit is whole; the unit `then`, if there is one, sets out at that moment."""
        self._fetch(number)
        self._gathers[number].wait()
        if self._ahead and 0 <= then < len(self.shards):
            self._fetch(then)

    def _fetch(self, number: int) -> None:
        """Start to gather a unit, unless that has been done."""
        if number not in self._rows:
            self._rows[number] = self.shards[number].detach().new_empty(self._lengths[number])
            self._gathers[number] = self._comm.start(self._gather, number)
            self.most_whole = max(self.most_whole, len(self._rows))

    def _free(self, number: int) -> None:
        del self._rows[number], self._gathers[number]

    def _gather(self, comm: Communicator, number: int) -> None:
        """What is started: it names the unit and holds no tensor, so that the row lives no longer than `_rows` says."""
        chunks = self._rows[number].tensor_split(comm.world_size)
        all_gather(comm, chunks, self.shards[number].detach(), name=f"gather {number}")

    def _first_output(self, number: int, value: torch.Tensor) -> torch.Tensor:
        """A unit's output, if its forward pass can be repeated."""
        value = value.clone() if value.is_inference() else value  # which does not tell whether it was changed
        version = value._version
        output = self._forward(number, self._rows[number], value)
        if value._version != version:
            raise ValueError(f"a unit must not change its input in place, because it runs twice, unit {number} does")
        if not isinstance(output, torch.Tensor):
            raise TypeError(f"a unit must give one tensor, unit {number} gives a {type(output).__name__}")
        return output

    def _forward(self, number: int, row: torch.Tensor, value: torch.Tensor) -> torch.Tensor:
        """A unit's output, with the parameters that lie in this row; the second time as the first time."""
        likes = dict(self._modules[number].named_parameters())
        pieces = row.split([like.numel() for like in likes.values()])
        views = {name: piece.view(likes[name].shape) for name, piece in zip(likes, pieces, strict=True)}
        with self._replays[number].run():
            return functional_call(self._modules[number], views, (value,))

    def _gradients(self, number: int, value: torch.Tensor, upstream: torch.Tensor) -> list[torch.Tensor]:
        """The gradients of a unit's row and of its input, from that of its output. Nobody asks for unit 0's input."""
        row, value = self._rows[number].detach().requires_grad_(), value.detach()
        leaves = [row, value.requires_grad_()] if number > 0 else [row]
        output = self._forward(number, row, value)
        if not output.requires_grad:  # it used neither
            return [torch.zeros_like(leaf) for leaf in leaves]
        return list(torch.autograd.grad(output, leaves, upstream, materialize_grads=True))

    def _start_reduce(self, number: int, gradient: torch.Tensor) -> None:
        """Start to hand a unit's gradient to its owners."""
        self._leaving = number, gradient, torch.empty_like(self.shards[number])
        self._reduction = self._comm.start(self._reduce)

    def _reduce(self, comm: Communicator) -> None:
        number, gradient, total = self._leaving
        reduce_scatter(comm, total, gradient.tensor_split(comm.world_size), name=f"reduce {number}")

    def _end_reduce(self) -> None:
        """Wait for the gradient that is on its way, if one is."""
        if self._reduction is not None:
            self._reduction.wait()
            number, _, total = self._leaving
            shard = self.shards[number]
            shard.grad = total if shard.grad is None else shard.grad + total
            mark_part(shard.grad, [self._comm])
            self._reduction = self._leaving = None


def _shapes_of(unit: nn.Module) -> nn.Module:
    """A copy whose parameters have shapes and no numbers; one that two modules of it share is still one."""
    shapes = {id(each): nn.Parameter(torch.empty_like(each, device="meta")) for each in unit.parameters()}
    return copy.deepcopy(unit, shapes)


def _refuse_others(units: Sequence[nn.Module]) -> None:
    """Each unit's parameters must fit into a row of its own."""
    at_least(1, units=len(units))
    parameters = [list(unit.parameters()) for unit in units]
    for number, mine in enumerate(parameters):
        kinds = {(parameter.dtype, parameter.requires_grad) for parameter in mine}
        if [trained for _, trained in kinds] != [True] or list(units[number].buffers()):
            rule = "a unit must have parameters of one dtype that want a gradient, and no buffers"
            raise ValueError(f"{rule}, unit {number} ({type(units[number]).__name__}) is not so")
    if len({parameter for mine in parameters for parameter in mine}) < sum(map(len, parameters)):
        raise ValueError("units must not share parameters: make one unit of those that do")
