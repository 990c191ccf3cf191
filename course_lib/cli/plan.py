"""`course plan`: whether a model fits, on what, how fast, and how far such an estimate was off."""

from __future__ import annotations

import click

__all__ = ["plan"]


@click.command()
@click.argument("model", metavar="MODEL")
@click.option("--gpus", type=click.IntRange(1, 100_000), help="How many; without, only parameters are counted.")
@click.option("--gpu", type=click.Choice(["a100", "h100"]), default="h100", show_default=True, help="80 GB each.")
@click.option("--sequence", default=4096, show_default=True, type=click.IntRange(1), help="Tokens of a sequence.")
@click.option("--batch", default=1024, show_default=True, type=click.IntRange(1), help="Sequences of a step.")
@click.option("--plan", "own", metavar="PLAN", help='Check one of your own, such as "tensor=8,pipeline=2,zero=1".')
def plan(model: str, gpus: int | None, gpu: str, sequence: int, batch: int, own: str | None) -> None:
    """Say whether MODEL fits, on what, how fast, and how far such an estimate was off.

    MODEL is a Hugging Face config.json, its folder, or its fields as numbers; Llama, Mistral, Qwen 2 and 3, Mixtral and
    DeepSeek-V3 are known. Printed are all parameters; of the five fastest plans time, MFU, bubble and memory; of the
    first one memory, time and traffic by part, and flags of torchtitan and Megatron-Core. Training is in 16 bits with
    Adam, on servers of eight GPUs with a network port each (A100: 200 Gbit/s, H100: 400).

    \b
    course plan config.json --gpus 64 --gpu h100 --sequence 8192 --batch 1024
    course plan config.json --gpus 64 --plan "tensor=8,pipeline=2,micro_batch=2,zero=1,sequence_parallel=true"
    course plan "vocab_size=32000,hidden_size=4096,intermediate_size=11008,num_hidden_layers=32,num_attention_heads=32"

    \b
    A plan's entries: tensor, pipeline, data, context, expert (ranks; data is what is left), micro_batch, chunks,
    recompute (none, selective, full), zero (0 to 3; 3 is FSDP), shards (HSDP: copies that ZeRO cuts over),
    sequence_parallel (true, false).
    """
    from course_lib.planning import ConfigError, PlanError, answer_lines, read_fields, shape_of

    try:
        shape = shape_of(read_fields(model), sequence)
        lines = answer_lines(shape, gpus, gpu, batch, own)
    except (ConfigError, PlanError) as error:
        raise click.ClickException(str(error)) from error
    click.echo("\n".join(lines))
