"""A plan in flags of torchtitan and Megatron-Core and as a configuration of DeepSpeed, as far as they were looked up.

Sources: pytorch/torchtitan, torchtitan/config/job_config.py (2025) and config/configs.py (2026); NVIDIA/Megatron-LM,
megatron/training/arguments.py and docs.nvidia.com/megatron-core, user guide: parallelism, Megatron-FSDP;
deepspeed.readthedocs.io: configuration, ZeRO (MiCS), training (AutoTP), pipeline parallelism.
"""

from __future__ import annotations

import json
from typing import Any

from course_lib.mesh import Plan
from course_lib.planning.shape import ModelShape


def torchtitan_flags(shape: ModelShape, plan: Plan, batch: int) -> list[str]:
    """Flags, and as comments (#) what has none.

    >>> from course_lib.planning import shape_of
    >>> tiny = {"model_type": "llama", "vocab_size": 10, "hidden_size": 4, "intermediate_size": 8}
    >>> shape = shape_of({**tiny, "num_hidden_layers": 1, "num_attention_heads": 2}, 16)
    >>> torchtitan_flags(shape, Plan(data=8, zero=3, shards=4), 8)[:2]
    ['--parallelism.data_parallel_replicate_degree 2', '--parallelism.data_parallel_shard_degree 4']
    """
    cut = plan.sharded_over // plan.context if plan.zero >= 2 else 1
    if plan.zero >= 2 and plan.sharded_over % plan.context:
        return [f"# none: torchtitan's shards hold whole sequences, and {plan.sharded_over} cut {plan.context} parts"]
    if plan.expert > 1 and (plan.zero < 2 or plan.tensor > 1 or plan.sharded_over % plan.expert):
        return ["# none: torchtitan takes expert ranks from its shards and tensor ranks; take zero=2 or 3 and tensor=1"]
    local = plan.micro_batch * (plan.micro_batches(batch) if plan.pipeline > 1 else 1)
    flags = [
        f"--parallelism.data_parallel_replicate_degree {plan.data // cut}",
        f"--parallelism.data_parallel_shard_degree {cut}",
        f"--parallelism.tensor_parallel_degree {plan.tensor}",
        f"--parallelism.context_parallel_degree {plan.context}",
        f"--parallelism.pipeline_parallel_degree {plan.pipeline}",
        f"--training.local_batch_size {local}",
        f"--training.global_batch_size {batch}",
        f"--training.seq_len {shape.sequence}",
        f"--activation_checkpoint.mode {plan.recompute}",
    ]
    if plan.pipeline > 1:
        flags += _titan_pipeline(shape, plan)
    if plan.expert > 1:
        flags.append(f"--parallelism.expert_parallel_degree {plan.expert}")
    if plan.zero >= 2:
        flags.append(f"--parallelism.fsdp_reshard_after_forward {'always' if plan.zero == 3 else 'never'}")
    if plan.zero == 3 and plan.pipeline > 1:
        flags.append("# by default torchtitan keeps the parameters of all stages of a rank whole: rather count zero=2")
    if plan.zero == 1:
        flags.append("# ZeRO-1 has no flag: these are plain copies, which need more memory")
    return flags


def _titan_pipeline(shape: ModelShape, plan: Plan) -> list[str]:
    schedule = "Interleaved1F1B" if plan.chunks > 1 else "1F1B"
    return [
        f"--parallelism.pipeline_parallel_schedule {schedule}",
        f"--parallelism.pipeline_parallel_layers_per_stage {-(-shape.layers // (plan.pipeline * plan.chunks))}",
        "--parallelism.pipeline_parallel_first_stage_less_layers 0",
        "--parallelism.pipeline_parallel_last_stage_less_layers 0",
        f"--parallelism.pipeline_parallel_microbatch_size {plan.micro_batch}",
        "# newer versions have num_pp_microbatches, their number, in place of the last one",
    ]


def megatron_flags(shape: ModelShape, plan: Plan, batch: int) -> list[str]:
    """Flags, and as comments (#) what was not looked up.

    >>> from course_lib.planning import shape_of
    >>> tiny = {"model_type": "llama", "vocab_size": 10, "hidden_size": 4, "intermediate_size": 8}
    >>> shape = shape_of({**tiny, "num_hidden_layers": 1, "num_attention_heads": 2}, 16)
    >>> megatron_flags(shape, Plan(data=8, zero=1, recompute="none"), 8)[-1]
    '--use-distributed-optimizer'
    """
    flags = [
        f"--tensor-model-parallel-size {plan.tensor}",
        f"--pipeline-model-parallel-size {plan.pipeline}",
        f"--context-parallel-size {plan.context}",
        f"--micro-batch-size {plan.micro_batch}",
        f"--global-batch-size {batch}",
        f"--seq-length {shape.sequence}",
        "--bf16",
    ]
    if plan.chunks > 1:
        flags.append(f"--num-virtual-stages-per-pipeline-rank {plan.chunks}")
    if plan.sequence_parallel:
        flags.append("--sequence-parallel")
    if plan.expert > 1:
        flags.append(f"--expert-model-parallel-size {plan.expert}")
    if plan.recompute == "full":
        flags.append("--recompute-granularity full --recompute-method uniform --recompute-num-layers 1")
    if plan.recompute == "selective":
        flags.append("--recompute-granularity selective")
    if plan.zero:
        flags.append("--use-distributed-optimizer")
    if plan.zero >= 2:
        flags += _megatron_fsdp(plan)
    if shape.layers % (plan.pipeline * plan.chunks):
        flags.append(f"# {plan.pipeline} stages do not divide {shape.layers} layers: say which has fewer")
    return flags


def _megatron_fsdp(plan: Plan) -> list[str]:
    strategy = "optim_grads_params" if plan.zero == 3 else "optim_grads"
    flags = [
        f"--use-megatron-fsdp --data-parallel-sharding-strategy {strategy}",
        "--no-gradient-accumulation-fusion --ckpt-format fsdp_dtensor",
    ]
    if (instances := plan.copies // plan.sharded_over) > 1:
        flags.append(f"--num-distributed-optimizer-instances {instances} --outer-dp-sharding-strategy no_shard")
    if plan.pipeline > 1:
        flags.append("# whether Megatron-FSDP goes with a pipeline in your version was not looked up")
    return flags


def deepspeed_lines(shape: ModelShape, plan: Plan, batch: int) -> list[str]:
    """The configuration in JSON, in one line, and as comments (#) what stands elsewhere or was not looked up.

    >>> from course_lib.planning import shape_of
    >>> tiny = {"model_type": "llama", "vocab_size": 10, "hidden_size": 4, "intermediate_size": 8}
    >>> shape = shape_of({**tiny, "num_hidden_layers": 1, "num_attention_heads": 2}, 16)
    >>> json.loads(deepspeed_lines(shape, Plan(data=8, zero=3), 16)[0])["zero_optimization"]
    {'stage': 3}
    """
    if plan.chunks > 1:
        return ["# none: DeepSpeed's pipeline has one chunk a rank; take chunks=1"]
    if plan.pipeline > 1 and plan.zero >= 2:
        return ["# none: DeepSpeed's pipeline goes with zero=0 or 1"]
    zero: dict[str, Any] = {"stage": plan.zero}
    if plan.copies > plan.sharded_over:
        zero["mics_shard_size"] = plan.sharded_over
    config: dict[str, Any] = {
        "train_batch_size": batch,
        "train_micro_batch_size_per_gpu": plan.micro_batch,
        "gradient_accumulation_steps": plan.micro_batches(batch),
        "bf16": {"enabled": True},
        "zero_optimization": zero,
    }
    if plan.tensor > 1:
        config["tensor_parallel"] = {"autotp_size": plan.tensor}
    lines = [json.dumps(config)]
    if plan.copies > plan.sharded_over:
        lines.append("# mics_shard_size needs deepspeed.zero.MiCS_Init around the model, and stage 3")
    if plan.pipeline > 1:
        lines.append(f"# the model is PipelineModule(layers, num_stages={plan.pipeline})")
    if plan.recompute != "none":
        lines.append(f"# recompute={plan.recompute} is set in the model, as by gradient_checkpointing_enable()")
    if plan.context > 1 or plan.expert > 1:
        lines.append("# context and expert ranks were not looked up: its own ways (Ulysses, AutoEP) cut otherwise")
    return lines
