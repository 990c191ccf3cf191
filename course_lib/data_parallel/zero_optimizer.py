"""ZeRO, stage 1: every rank keeps the optimizer's state for its own shard of the parameters, and updates only that.

all-reduce                  =  reduce-scatter       +  all-gather
gradients, for everybody       gradients, to owners    gradients, for everybody
with the update in between     gradients, to owners  → update the shard →  parameters, for everybody
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence

import torch
from torch import nn

from course_lib.comm import Communicator
from course_lib.data_parallel.zero_unit import make_units

__all__ = ["ShardedOptimizer"]


class ShardedOptimizer:
    """Data-parallel training of a module whose optimizer state is sharded over the ranks.

    Give every rank the same weights first (`broadcast_state`), then: `zero_grad()`, a backward pass, `step()`. Weights
    are those of unsharded training if the optimizer treats every number by itself, as SGD and Adam do; one that looks
    at whole tensors (LARS, clipping by norm) would see shards. A parameter that got no gradient on any rank has one of
    zeros here: weight decay moves it, which unsharded training does not.

    Attributes:
        share: this rank's part of the batch, by which its gradients count; 1/world_size unless you set it.
        optimizer: any of torch's, on the shards.
        watch: called with a word whenever the memory changes; `memory_moments` uses it.

    Args:
        make_optimizer: makes it from a list of tensors: `functools.partial(torch.optim.Adam, lr=1e-3)`.
        modules: whose parameters are sharded together; None: the module's children. What is left over is one more.

    Cost: a step sends (p - 1)/p × 2Ψ elements from each of the p ranks, Ψ being the number of parameters.

    Source: Rajbhandari et al., "ZeRO: memory optimizations toward training trillion parameter models", arXiv
    1910.02054, 2019, section 5.
    """

    _keeps_rows = True

    def __init__(
        self,
        comm: Communicator,
        module: nn.Module,
        make_optimizer: Callable[[list[torch.Tensor]], torch.optim.Optimizer],
        modules: Sequence[nn.Module] | None = None,
    ) -> None:
        self.module = module
        self.share = 1 / comm.world_size
        self.watch: Callable[[str], None] = lambda moment: None
        self.units = make_units(comm, module, modules, self._keeps_rows)
        self.optimizer = make_optimizer([unit.shard for unit in self.units])

    def zero_grad(self) -> None:
        """Forget all gradients."""
        self.module.zero_grad()
        self.optimizer.zero_grad()

    def step(self) -> None:
        """Reduce the gradients to their owners, update the own shard, and hand the parameters out."""
        self.reduce_gradients()
        self.optimizer.step()
        self.publish()
        self.watch("step")

    def reduce_gradients(self) -> None:
        """Leave in each shard the gradient of the joined batch; the last layer's goes first, as backward made them."""
        for unit in reversed(self.units):
            unit.reduce_gradients(self.share, self.watch)

    def publish(self) -> None:
        """Give every rank the parameters that their owners have updated."""
        for unit in self.units:
            unit.gather()

    @contextlib.contextmanager
    def whole(self) -> Iterator[nn.Module]:
        """The module with all its parameters, inside: to save, hash or compare it."""
        yield self.module
