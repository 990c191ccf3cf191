"""Bytes that one GPU sends in a step, by dimension: what the times of chapter 13 are made of."""

from __future__ import annotations

from course_lib.mesh import Plan, TransformerShape, device_parameters

__all__ = ["sent_bytes"]


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
