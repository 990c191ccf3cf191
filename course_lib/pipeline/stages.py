"""The small GPT cut into stages, and the gradient that its first and its last stage must share."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import nn

from course_lib.collectives import ring_all_reduce
from course_lib.comm import Communicator
from course_lib.pipeline.schedule import Schedule
from course_lib.tasks import GPT, GPTConfig

__all__ = ["GPTStage", "gpt_stages", "sum_tied_gradients"]


class GPTStage(nn.Module):
    """Some consecutive blocks of a GPT; the first stage also embeds, the last one also scores.

    All stages together have the parameters of `GPT(config, seed)`, and a tied embedding twice: on the first stage,
    which reads it, and on the last one, whose output it is.

    Raises:
        ValueError: unless every stage has a block, and there is such a stage.
    """

    def __init__(self, config: GPTConfig, stage: int, stages: int, seed: int = 0) -> None:
        super().__init__()
        if not 1 <= stages <= config.layers:
            raise ValueError(f"every stage must have a block, got {stages} stages for {config.layers} blocks")
        if not 0 <= stage < stages:
            raise ValueError(f"{stages} stages are 0 to {stages - 1}, got {stage}")
        whole = GPT(config, seed)
        self.first, self.last = stage == 0, stage == stages - 1
        self.blocks = whole.blocks[stage * config.layers // stages : (stage + 1) * config.layers // stages]
        if self.first:
            self.embedding, self.position = whole.embedding, whole.position
        if self.last:
            self.norm, self.output = whole.norm, whole.output

    def forward(self, x: torch.Tensor) -> torch.Tensor:  # [b, t] or [b, t, d] -> [b, t, d] or [b, t, v]
        """From tokens or what the stage before gave to what the stage behind takes, or the logits."""
        if self.first:
            x = self.embedding(x) + self.position(torch.arange(x.shape[1], device=x.device))
        for block in self.blocks:
            x = block(x)
        return self.output(self.norm(x)) if self.last else x


def gpt_stages(config: GPTConfig, schedule: Schedule, rank: int, seed: int = 0) -> dict[int, GPTStage]:
    """The stages of a rank, by number."""
    own = (stage for stage in range(schedule.stages) if schedule.rank_of(stage) == rank)
    return {stage: GPTStage(config, stage, schedule.stages, seed) for stage in own}


def sum_tied_gradients(comm: Communicator, schedule: Schedule, stages: Mapping[int, GPTStage]) -> None:
    """Give both copies of a tied embedding the sum of their gradients; only the ranks that hold them do anything.

    Equal copies that take equal steps stay equal.

    Raises:
        ValueError: if a copy has no gradient yet.
    """
    last = schedule.stages - 1
    copies = [stages[stage].embedding.weight for stage in stages if stage == 0]
    copies += [stages[stage].output.weight for stage in stages if stage == last and last > 0]
    holders = schedule.rank_of(0), schedule.rank_of(last)
    copies = [copy for copy in copies if copy.requires_grad]  # frozen, it is so on both
    if not copies or last == 0:
        return
    gradients = [copy.grad for copy in copies if copy.grad is not None]
    if len(gradients) < len(copies):
        raise ValueError(
            f"rank {comm.rank} has no gradient of a tied embedding yet: call this after the backward passes"
        )
    total = torch.stack(gradients).sum(0)
    if holders[0] != holders[1]:
        ring_all_reduce(comm.group(holders), total)
    for copy in copies:
        copy.grad = total.clone()
