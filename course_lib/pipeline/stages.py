"""Pipeline stages: the small GPT in parts, with a tied embedding; and layers of whole numbers, whose sums are exact."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import torch
from torch import nn

from course_lib.collectives import ring_all_reduce
from course_lib.comm import Communicator
from course_lib.pipeline.schedule import Schedule
from course_lib.tasks import GPT, GPTConfig


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


_WIDTH = 6


def whole_number_stage(number: int, seed: int = 0) -> nn.Sequential:
    """A linear layer of 6 by 6 and ReLU, in float64; its weights are whole numbers from -2 to 2.

    >>> whole_number_stage(3)[0].weight.abs().max().item()
    2.0
    """
    layer = nn.Linear(_WIDTH, _WIDTH, dtype=torch.float64)
    draw = torch.Generator().manual_seed(100 * seed + number)
    with torch.no_grad():
        for parameter in layer.parameters():
            parameter.copy_(torch.randint(-2, 3, parameter.shape, generator=draw))
    return nn.Sequential(layer, nn.ReLU())


def whole_number_batch(seed: int = 0, examples: int = 16) -> torch.Tensor:
    """Examples for these stages: whole numbers from -3 to 3, in float64.

    >>> whole_number_batch(examples=13).shape
    torch.Size([13, 6])
    """
    return torch.randint(-3, 4, (examples, _WIDTH), generator=torch.Generator().manual_seed(seed)).double()


def equal_to_one_process(gradients: Sequence[Sequence[torch.Tensor]], batch: torch.Tensor, seed: int = 0) -> bool:
    """Whether these are, to the last bit, the gradients that one process finds for the sum of all outputs.

    Args:
        gradients: for each stage, in order, those of its parameters.
    """
    model = nn.Sequential(*(whole_number_stage(number, seed) for number in range(len(gradients))))
    model(batch).sum().backward()
    pairs = zip(model, gradients, strict=True)
    return all(
        torch.equal(parameter.grad, gradient)
        for stage, found in pairs
        for parameter, gradient in zip(stage.parameters(), found, strict=True)
    )
