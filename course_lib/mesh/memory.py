"""Bytes that a plan needs on its fullest device, the one with the pipeline's first stage, by what they hold."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

from course_lib.data_parallel.zero import zero_parts
from course_lib.mesh.plan import Plan, TransformerShape


def layer_activation_bytes(shape: TransformerShape, plan: Plan) -> float:
    """What one layer keeps of one micro-batch for the backward pass, 16-bit numbers and masks of a byte.

    s b h (34 + 5 a s / h) on one device. Tensor ranks share 24 and the scores; the 10 of norms, dropout and their
    inputs only with sequence parallelism. Selective recomputation drops the scores, full all but the layer's input.
    Of the 24 the MLP's are 16, once for each expert that takes a token.

    Raises:
        ValueError: if the plan's context does not divide the sequence.

    Source: Korthikanti et al., arXiv 2205.05198, table 2.

    >>> gpt3 = TransformerShape(layers=96, hidden=12288, heads=96)
    >>> round(layer_activation_bytes(gpt3, Plan(recompute="none")) / (2048 * 12288))
    114
    """
    if shape.sequence % plan.context:
        raise ValueError(f"{plan.context} context ranks must divide {shape.sequence} tokens")
    h, t = shape.hidden, plan.tensor
    unit = shape.sequence / plan.context * plan.micro_batch * h
    whole = 1 / t if plan.sequence_parallel else 1.0
    if plan.recompute == "full":
        return unit * 2 * whole
    kept = plan.recompute == "none" and not shape.fused_attention
    scores = 5 * shape.heads * shape.sequence / h if kept else 0.0
    return unit * (shape.norms_kept * whole + (shape.attention_kept + shape.mlp_kept + scores) / t)


def micro_batches_held(plan: Plan, micro_batches: int) -> float:
    """Of how many micro-batches the first stage holds activations: one a stage, and more when interleaved.

    Source: Korthikanti et al., arXiv 2205.05198, section 4.2.3: p (1 + (p - 1) / (p v)) with v > 1 chunks.
    """
    p, v = plan.pipeline, plan.chunks
    return min(micro_batches, p if v == 1 else p * (1 + (p - 1) / (p * v)))


class DeviceParameters(NamedTuple):
    """Parameters on one device: those that all copies have, and those of its experts."""

    dense: float
    experts: float


def device_parameters(shape: TransformerShape, plan: Plan) -> DeviceParameters:
    """Parameters of the first stage on one device: its layers, and the embedding; the output too if it is the last.

    An MLP that is the only one is dense. Tensor ranks cut experts, too.
    """
    ends = shape.embedding_parameters * (2 if plan.pipeline == 1 and not shape.tied else 1)
    layers, many = -(-shape.layers // plan.pipeline), shape.experts > 1
    experts = layers * shape.experts * shape.expert_parameters
    dense = layers * shape.dense_parameters + ends + (0 if many else experts)
    return DeviceParameters(dense / plan.tensor, experts / plan.expert / plan.tensor if many else 0.0)


def gathered_bytes(shape: TransformerShape, plan: Plan) -> float:
    """What ZeRO's stages 2 and 3 hold whole for a moment, in 16 bits: a layer's gradients, and with 3 two layers.

    The second layer is the one that is fetched while the first computes. The embedding is a unit, too.
    """
    if plan.zero < 2 or plan.sharded_over == 1:
        return 0.0
    layer = shape.dense_parameters + shape.experts * shape.expert_parameters / plan.expert
    units = sorted((layer, layer, shape.embedding_parameters))
    return 2 * (units[-1] + (sum(units[-2:]) if plan.zero == 3 else 0)) / plan.tensor


def device_memory(shape: TransformerShape, plan: Plan, batch: int) -> dict[str, float]:
    """Bytes of "parameters", "gradients", "optimizer states" and "activations" on the fullest device.

    With ZeRO's stages 2 and 3 also of "gathered layers". Mixed precision with Adam, 2 + 2 + 12 bytes a parameter. With
    full recomputation one layer's activations live for its backward pass, too.

    Raises:
        ValueError: if the plan deals out experts that do not divide by its ranks.
    """
    if shape.experts % plan.expert:
        raise ValueError(f"{plan.expert} expert ranks must divide the experts, got {shape.experts}")
    dense, experts = device_parameters(shape, plan)
    parts = zero_parts(dense, plan.sharded_over, plan.zero)
    for name, size in zero_parts(experts, max(1, plan.sharded_over // plan.expert), plan.zero).items():
        parts[name] += size
    layers = -(-shape.layers // plan.pipeline)
    held = micro_batches_held(plan, plan.micro_batches(batch)) * layers * layer_activation_bytes(shape, plan)
    if plan.recompute == "full":
        held += layer_activation_bytes(shape, replace(plan, recompute="none"))
    gathered = gathered_bytes(shape, plan)
    return {**parts, "activations": held, **({"gathered layers": gathered} if gathered else {})}
