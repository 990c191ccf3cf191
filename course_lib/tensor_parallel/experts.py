"""A mixture of experts: every rank has some experts, and tokens travel to the expert that a router chose.

    tokens of this rank ─ router ─ all-to-all ─▶ experts of this rank ─ all-to-all back ─▶ × the router's weight

An expert takes at most `capacity` tokens from each rank; those beyond are dropped: their result is 0.

Source: Fedus, Zoph and Shazeer, "Switch transformers", arXiv 2101.03961, section 2 (one expert a token, capacity).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import torch
from torch import nn

from course_lib.checks import at_least
from course_lib.comm import Communicator
from course_lib.comm.group import mark_gradients_of
from course_lib.tensor_parallel.operators import exchange_parts


def capacity_of(tokens: int, experts: int, factor: float = 1.25) -> int:
    """How many tokens of a rank one expert takes: the fair share times `factor`, rounded up.

    Raises:
        ValueError: unless there is an expert.

    >>> capacity_of(64, experts=4), capacity_of(64, experts=4, factor=1.0)
    (20, 16)
    """
    at_least(1, experts=experts)
    if not (tokens >= 0 and math.isfinite(factor)):
        raise ValueError(f"there must be tokens and a finite factor, got {tokens} and {factor}")
    return math.ceil(tokens / experts * factor)


class Routing(NamedTuple):
    """Where each token goes.

    Attributes:
        expert: [n], the chosen one. weight: [n], the router's probability for it.
        slot: [n], the token's place in that expert's row. kept: [n], whether there was a place.
    """

    expert: torch.Tensor
    weight: torch.Tensor
    slot: torch.Tensor
    kept: torch.Tensor

    @property
    def dropped(self) -> int:
        """How many tokens found no place."""
        return int((~self.kept).sum())


def route(scores: torch.Tensor, capacity: int) -> Routing:  # [n, experts]
    """Each token to its best expert, in the order of the tokens, until an expert has `capacity` of them.

    >>> route(torch.tensor([[2.0, 0.0], [1.0, 0.0], [0.0, 3.0]]), capacity=1).kept.tolist()
    [True, False, True]
    """
    weight, expert = scores.softmax(1).max(1)
    chosen = nn.functional.one_hot(expert, scores.shape[1])
    slot = (chosen.cumsum(0) - 1).gather(1, expert.unsqueeze(1)).squeeze(1)
    return Routing(expert, weight, slot, slot < capacity)


class ExpertParallel(nn.Module):
    """This rank's share of a mixture: the whole router, and its own experts.

    After the backward pass an expert's gradient is that of all ranks' tokens. The router is whole on every rank and saw
    this rank's tokens only: sum its gradient over the ranks. (Where the loss is a mean and the router's gradient is
    averaged, as a data rank's is, divide the experts' by the number of ranks.)

    Where tokens are dropped, which ones depends on the number of ranks, for an expert has room for `capacity` of each.

    Args:
        experts: all of them; this rank keeps its part.
        capacity: tokens that an expert takes from each rank.

    Raises:
        ValueError: unless the ranks divide the experts, and the router has a score for each of them.
    """

    def __init__(self, comm: Communicator, router: nn.Linear, experts: nn.ModuleList, capacity: int) -> None:
        super().__init__()
        if len(experts) % comm.world_size:
            raise ValueError(f"{comm.world_size} ranks must divide the experts, got {len(experts)}")
        if router.out_features != len(experts):
            raise ValueError(f"the router scores {router.out_features} experts, and there are {len(experts)}")
        self.comm = comm
        self.router = router
        self.capacity = capacity
        share = len(experts) // comm.world_size
        self.total, self.experts = len(experts), experts[comm.rank * share : (comm.rank + 1) * share]

    def forward(self, x: torch.Tensor) -> torch.Tensor:  # [n, d] -> [n, d]
        """What the experts make of this rank's tokens; `routing` of the last call says where they went."""
        mark_gradients_of(self.experts.parameters(), self.comm)
        self.routing = route(self.router(x), self.capacity)
        rows = x.new_zeros(self.total, self.capacity, x.shape[1])
        expert, slot = self.routing.expert[self.routing.kept], self.routing.slot[self.routing.kept]
        rows = rows.index_put((expert, slot), x[self.routing.kept])
        arrived = exchange_parts(self.comm, rows.unflatten(0, (self.comm.world_size, -1)))  # [p, e / p, capacity, d]
        made = torch.stack([each(arrived[:, number]) for number, each in enumerate(self.experts)], 1)
        home = exchange_parts(self.comm, made).flatten(0, 1)  # [e, capacity, d]
        y = home.new_zeros(x.shape).index_put((self.routing.kept.nonzero().squeeze(1),), home[expert, slot])
        return y * self.routing.weight.unsqueeze(1)


def mixture_on_one_process(
    router: nn.Linear, experts: nn.ModuleList, x: torch.Tensor, capacity: int
) -> torch.Tensor:  # [n, d] -> [n, d]
    """The same by a loop over the experts."""
    routing = route(router(x), capacity)
    places = [((routing.expert == number) & routing.kept).nonzero().squeeze(1) for number in range(len(experts))]
    made = torch.cat([expert(x[here]) for expert, here in zip(experts, places, strict=True)])  # in the experts' dtype
    y = made.new_zeros(x.shape).index_put((torch.cat(places),), made)
    return y * routing.weight.unsqueeze(1)
