"""The fastest plans for a model, what a given plan needs (`--plan`), and the bytes that it sends by dimension."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, NamedTuple

from course_lib.mesh import (
    SPARE,
    Cluster,
    Plan,
    StepTime,
    TransformerShape,
    all_plans,
    device_memory,
    device_parameters,
)
from course_lib.planning.expected import expected_step, padded
from course_lib.planning.shape import ModelShape

_LONG = 16_384  # tokens from which the search cuts sequences, too
_CHUNKS = (1, 2, 3, 4)  # those that all_plans tries
_LOGIT_BYTES = 10  # as PyTorch's loss has them: a logit in 16 bits, its logarithm and its gradient in 32


class InvalidPlanError(ValueError):
    """An invalid plan: which entry, what was expected, what was there."""


class Candidate(NamedTuple):
    """A plan, the parts of its step's time, and bytes of the fullest GPU by what they hold."""

    plan: Plan
    time: StepTime
    memory: dict[str, float]

    @property
    def memory_bytes(self) -> float:
        """All of them."""
        return sum(self.memory.values())

    def room_bytes(self, cluster: Cluster) -> float:
        """What is left of a GPU when a tenth of it stays free; negative if the plan does not fit."""
        return (1 - SPARE) * cluster.memory_bytes - self.memory_bytes

    def model_share(self, shape: ModelShape, cluster: Cluster, batch: int) -> float:
        """MFU: operations of the model over what the GPUs could do in the time."""
        return shape.flops(batch) / (self.time.seconds * self.plan.devices * cluster.flops_per_s)

    @property
    def bubble_share(self) -> float:
        """The bubble's share of the step."""
        return self.time.bubble_s / self.time.seconds


def _padded(layers: int, stages: int) -> int:
    return -(-layers // stages) * stages


def candidate_of(shape: ModelShape, plan: Plan, cluster: Cluster, batch: int) -> Candidate:
    """A plan with its expected time and memory. Where stages do not divide the layers, all are as large as the largest.

    Logits are added where the first stage is the last one.

    Raises:
        ValueError: if data ranks and micro-batches do not divide the batch, context ranks the sequence, or expert ranks
            the experts.
    """
    memory = device_memory(padded(shape, plan), plan, batch)
    if plan.pipeline == 1:
        memory["logits"] = logits_bytes(shape, plan)
    return Candidate(plan, expected_step(shape, plan, cluster, batch), memory)


def logits_bytes(shape: TransformerShape, plan: Plan) -> float:
    """What the loss of one micro-batch holds on the last stage."""
    tokens = plan.micro_batch * shape.sequence / plan.context
    return _LOGIT_BYTES * tokens * shape.vocabulary / plan.tensor


def _plans(shape: ModelShape, cluster: Cluster, devices: int, batch: int) -> Iterator[Plan]:
    """Every plan; where stages do not divide the layers, as if there were a few more."""
    choices: dict[str, tuple[Any, ...]] = {"recompute": ("none", "full"), "zero": (0, 1, 2, 3)}
    node = cluster.devices_per_node
    choices["shards"] = (0, node) if devices > node else (0,)
    choices["context"] = (1, 2, 4, 8, 16) if shape.sequence >= _LONG else (1,)
    choices["expert"] = tuple(2**power for power in range(9)) if shape.experts > 1 else (1,)
    ranks = [count for count in range(1, min(devices, shape.layers) + 1) if devices % count == 0]
    for layers in sorted({_padded(shape.layers, count * chunks) for count in ranks for chunks in _CHUNKS}):
        for plan in all_plans(replace(shape, layers=layers), devices, batch, devices_per_node=node, **choices):
            if _padded(shape.layers, plan.pipeline * plan.chunks) == layers and _is_tried(shape, plan):
                yield plan


def _is_tried(shape: ModelShape, plan: Plan) -> bool:
    """There are layers for all stages, and stages keep their parameters from one micro-batch to the next."""
    return _has_layers(shape, plan) and (plan.pipeline == 1 or plan.zero < 3) and _heads_divide(shape, plan)


def _has_layers(shape: ModelShape, plan: Plan) -> bool:
    """No rank has more chunks than layers; the first and the last may have a layer less, as in Llama 3."""
    return plan.pipeline <= shape.layers and plan.chunks <= -(-shape.layers // plan.pipeline)


def _heads_divide(shape: ModelShape, plan: Plan) -> bool:
    return (shape.key_value_heads or shape.heads) % plan.tensor == 0


def best_candidates(
    shape: ModelShape, cluster: Cluster, devices: int, batch: int, most: int = 5
) -> tuple[list[Candidate], int]:
    """The fastest plans that leave a tenth of each GPU free, those that need less memory first of equals; how many fit.

    Tensor ranks divide all heads and stay in a node. Of ZeRO all stages, and HSDP with shards in a node, are tried; of
    recomputation none and full, because fused attention leaves nothing for selective recomputation to drop. Stage 3 is
    tried without a pipeline only.
    """
    fitting = []
    for plan in _plans(shape, cluster, devices, batch):
        candidate = candidate_of(shape, plan, cluster, batch)
        if candidate.room_bytes(cluster) >= 0:
            fitting.append(candidate)
    fitting.sort(key=lambda each: (each.time.seconds, each.memory_bytes))
    return fitting[:most], len(fitting)


_WHOLE = ("tensor", "pipeline", "data", "micro_batch", "chunks", "zero", "context", "expert", "shards")
_ENTRIES = (*_WHOLE, "recompute", "sequence_parallel")


def plan_of(text: str, shape: ModelShape, devices: int, batch: int) -> Plan:
    """A plan from "tensor=8,pipeline=4,zero=1"; data ranks are what is left of the GPUs.

    Raises:
        InvalidPlanError: naming the entry that is unknown, doubled or wrong, or does not fit GPUs, model or batch;
            if there is none.
    """
    entries: dict[str, Any] = {"recompute": "none"}
    said: set[str] = set()
    for pair in text.replace(",", " ").split():
        name, _, value = pair.partition("=")
        if name not in _ENTRIES:
            raise InvalidPlanError(f"an entry of a plan is one of {', '.join(_ENTRIES)}, got {pair!r}")
        if name in said:
            raise InvalidPlanError(f"{name} stands in the plan twice")
        said.add(name)
        entries[name] = _value(name, value)
    if not said:
        raise InvalidPlanError(f"a plan has an entry or more, such as tensor=8; they are {', '.join(_ENTRIES)}")
    cut = entries.get("tensor", 1) * entries.get("pipeline", 1) * entries.get("context", 1)
    if "data" not in entries:
        if cut == 0 or devices % cut:
            raise InvalidPlanError(f"tensor × pipeline × context must divide {devices} GPUs, got {cut}")
        entries["data"] = devices // cut
    try:
        plan = Plan(**entries)
        plan.micro_batches(batch)
    except ValueError as error:
        raise InvalidPlanError(f"--plan: {error}") from error
    _check(plan, shape, devices)
    return plan


def _value(name: str, value: str) -> Any:
    if name == "recompute":
        return value
    if name == "sequence_parallel":
        if value not in ("true", "false"):
            raise InvalidPlanError(f"sequence_parallel must be true or false, got {value!r}")
        return value == "true"
    if not value.isascii() or not value.isdigit():
        raise InvalidPlanError(f"{name} must be a whole number, got {value!r}")
    return int(value)


def _check(plan: Plan, shape: ModelShape, devices: int) -> None:
    if plan.devices != devices:
        raise InvalidPlanError(f"tensor × pipeline × context × data must be {devices} GPUs, got {plan.devices}")
    if not _has_layers(shape, plan):
        raise InvalidPlanError(
            f"pipeline ranks with their chunks need {plan.pipeline} × {plan.chunks} layers, got {shape.layers}"
        )
    if not _heads_divide(shape, plan) or shape.heads % plan.tensor:
        heads = shape.key_value_heads or shape.heads
        raise InvalidPlanError(f"tensor must divide {heads} heads of keys and values, got {plan.tensor}")
    if shape.sequence % plan.context:
        raise InvalidPlanError(f"context must divide {shape.sequence} tokens, got {plan.context}")
    if shape.experts % plan.expert:
        raise InvalidPlanError(f"expert must divide {shape.experts} experts, got {plan.expert}")


def _ring(ranks: int) -> float:
    """The share of a message that each of a ring's ranks sends in a reduce-scatter or in an all-gather."""
    return (ranks - 1) / ranks


def sent_bytes(shape: TransformerShape, plan: Plan, batch: int) -> dict[str, float]:
    """Bytes that a GPU of a middle stage sends in a step, by dimension, 16-bit numbers; those of one rank are left out.

    "data" has what ZeRO's shards need, too; "copies" is what the copies of shards sum (HSDP).

    Raises:
        ValueError: unless data ranks and micro-batches divide the batch.
    """
    m, layers = plan.micro_batches(batch), shape.layers / plan.pipeline
    forwards = 2 if plan.recompute == "full" else 1
    between = 2 * plan.micro_batch * shape.sequence / plan.context * shape.hidden
    shared = (shape.key_value_heads or shape.heads) / shape.heads
    key_values = 2 * shared * between * plan.context / plan.tensor
    dispatched = shape.active * between / (plan.tensor if plan.sequence_parallel else 1)
    found = {
        "tensor": m * layers * 2 * (forwards + 1) * 2 * _ring(plan.tensor) * between,
        "context": m * layers * (forwards + 2) * _ring(plan.context) * key_values,
        "expert": m * layers * 2 * (forwards + 1) * _ring(plan.expert) * dispatched,
        "pipeline": m * 2 * plan.chunks * between / plan.tensor if plan.pipeline > 1 else 0.0,
        **_copies_bytes(shape, plan, m),
    }
    return {name: size for name, size in found.items() if size}


def _copies_bytes(shape: TransformerShape, plan: Plan, micro_batches: int) -> dict[str, float]:
    dense, experts = device_parameters(shape, plan)
    over = plan.sharded_over if plan.zero >= 2 else plan.copies
    rest = max(1, over // plan.expert)
    one_way = 2 * (_ring(over) * dense + _ring(rest) * experts)
    ways = {2: micro_batches + 1, 3: 3 * micro_batches}.get(plan.zero, 2)
    far = plan.copies // over
    return {"data": ways * one_way, "copies": 2 * _ring(far) * 2 * (dense + experts) / over}
