"""A GPT on a mesh by PyTorch alone: its device mesh, tensor parallelism, FSDP2 and pipeline schedules."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import torch
import torch.distributed.checkpoint as dcp
from torch import nn
from torch.distributed import pipelining
from torch.distributed.checkpoint.state_dict import StateDictOptions, get_state_dict, set_state_dict
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor import Replicate
from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, loss_parallel, parallelize_module
from torch.nn.functional import scaled_dot_product_attention

from course_lib.mesh.coordinates import DIMENSIONS, Mesh
from course_lib.tasks import GPT, next_token_loss
from course_lib.tasks.gpt import Block

Batch = tuple[torch.Tensor, torch.Tensor]  # tokens and targets, [b, s] each
_BY_NAME = StateDictOptions(
    flatten_optimizer_state_dict=True
)  # stages have other lists of parameters, never other names


class _Attention(nn.Module):
    """The attention of a block with matrices of their own for queries, keys and values, so that each can be cut."""

    def __init__(self, block: Block) -> None:
        super().__init__()
        joined, width = block.attention.queries_keys_values, block.attention.output.in_features
        self.head_width = width // block.attention.heads
        self.queries, self.keys, self.values = (nn.Linear(width, width) for _ in range(3))
        with torch.no_grad():
            for number, layer in enumerate((self.queries, self.keys, self.values)):
                layer.weight = nn.Parameter(joined.weight.chunk(3)[number].clone())
                layer.bias = nn.Parameter(joined.bias.chunk(3)[number].clone())
        self.output = copy.deepcopy(block.attention.output)

    def forward(self, x: torch.Tensor) -> torch.Tensor:  # [b, s, h] -> [b, s, h]
        parts = (layer(x).unflatten(2, (-1, self.head_width)) for layer in (self.queries, self.keys, self.values))
        heads = scaled_dot_product_attention(*(part.transpose(1, 2) for part in parts), is_causal=True)
        return self.output(heads.transpose(1, 2).flatten(2))


class PyTorchStage(nn.Module):
    """The layers of one pipeline stage of a GPT whose output is not tied.

    A block has the whole model's number in its name: by names a checkpoint knows on another mesh what is what.
    """

    def __init__(self, whole: GPT, stage: int, stages: int) -> None:
        super().__init__()
        layers = len(whole.blocks)
        self.first, self.last = stage == 0, stage == stages - 1
        own = range(stage * layers // stages, (stage + 1) * layers // stages)
        self.blocks = nn.ModuleDict({str(number): copy.deepcopy(whole.blocks[number]) for number in own})
        for block in self.blocks.values():
            block.attention = _Attention(block)
        if self.first:
            self.embedding, self.position = copy.deepcopy(whole.embedding), copy.deepcopy(whole.position)
        if self.last:
            self.norm, self.output = copy.deepcopy(whole.norm), copy.deepcopy(whole.output)

    def forward(self, x: torch.Tensor) -> torch.Tensor:  # [b, s] or [b, s, h] -> [b, s, h] or [b, s, v]
        if self.first:
            x = self.embedding(x) + self.position(torch.arange(x.shape[1]))
        for block in self.blocks.values():
            x = block(x)
        return self.output(self.norm(x)) if self.last else x


def _plan(stage: PyTorchStage) -> dict[str, Any]:
    """Which layers are cut by columns, which by rows."""
    columns, rows = ("attention.queries", "attention.keys", "attention.values", "mlp.0"), ("attention.output", "mlp.2")
    plan: dict[str, Any] = {}
    for number in stage.blocks:
        plan |= {f"blocks.{number}.{name}": ColwiseParallel() for name in columns}
        plan |= {f"blocks.{number}.{name}": RowwiseParallel() for name in rows}
    if stage.first:
        plan["embedding"] = RowwiseParallel(input_layouts=Replicate())
    if stage.last:
        plan["output"] = ColwiseParallel(use_local_output=False)  # the loss reads the logits in parts
    return plan


class PyTorchStep:
    """One training step of a GPT on a mesh, on this rank: `step(batch)` gives its part's loss, on the last stage.

    Tensor parallelism by `parallelize_module`, optimizer states and gradients sharded over the data dimension by
    `fully_shard`, 1F1B by `torch.distributed.pipelining` where there is a pipeline.

    Args:
        whole: its output must not be tied.

    Raises:
        ValueError: if it is tied, or, in a step, unless data ranks and micro-batches divide the batch: PyTorch's means
            would weigh uneven parts alike.
    """

    def __init__(
        self,
        mesh: Mesh,
        rank: int,
        whole: GPT,
        micro_batches: int,
        make_optimizer: Callable[[Any], torch.optim.Optimizer],
    ) -> None:
        if whole.config.tied:
            raise ValueError("a tied output would need a sum of its own: give a GPT with tied=False")
        self.mesh = mesh
        self.at = mesh.coordinates(rank)
        self.micro_batches = micro_batches
        groups = init_device_mesh("cpu", mesh.shape, mesh_dim_names=DIMENSIONS)
        stage = PyTorchStage(whole, self.at.pipeline, mesh.pipeline)
        self.stage = parallelize_module(stage, groups["tensor"], _plan(stage))
        if mesh.data > 1:
            fully_shard(self.stage, mesh=groups["data"], reshard_after_forward=False)
        self.optimizer = make_optimizer(self.stage.parameters())
        self.schedule = None
        if mesh.pipeline > 1:
            group, place = groups["pipeline"].get_group(), (self.at.pipeline, mesh.pipeline, torch.device("cpu"))
            part = pipelining.PipelineStage(self.stage, *place, group=group)
            self.schedule = pipelining.Schedule1F1B(part, micro_batches, loss_fn=next_token_loss)

    def __call__(self, batch: Batch) -> float:
        data, micro_batches = self.mesh.data, self.micro_batches if self.schedule is not None else 1
        if len(batch[0]) % (data * micro_batches):
            parts = f"{data} data ranks and {micro_batches} micro-batches"
            raise ValueError(f"{parts} must divide the batch, got {len(batch[0])} sequences")
        tokens, targets = (part.chunk(data)[self.at.data] for part in batch)
        self.optimizer.zero_grad()
        losses: list[torch.Tensor] = []
        with loss_parallel():
            if self.schedule is None:
                losses = [next_token_loss(self.stage(tokens), targets)]
                losses[0].backward()
            else:
                ends = {"target": targets, "losses": losses} if self.stage.last else {}
                self.schedule.step(*[tokens] * self.stage.first, **ends)
        self.optimizer.step()
        return sum(float(loss.detach()) for loss in losses) / max(1, len(losses))

    def state_dict(self) -> dict[str, Any]:
        """Weights and the optimizer's states by the whole model's names, as tensors that know how they are cut."""
        model, optimizer = get_state_dict(self.stage, self.optimizer, options=_BY_NAME)
        return {"model": model, "optimizer": optimizer}

    def save(self, folder: str) -> None:
        """A checkpoint by `torch.distributed.checkpoint`: a file a rank, and the metadata."""
        dcp.save(self.state_dict(), checkpoint_id=folder)

    def load(self, folder: str) -> None:
        """Go on from a checkpoint of any mesh: a rank reads what it needs, in place."""
        state = self.state_dict()
        dcp.load(state, checkpoint_id=folder)
        parts = {"model_state_dict": state["model"], "optim_state_dict": state["optimizer"]}
        set_state_dict(self.stage, self.optimizer, options=_BY_NAME, **parts)
