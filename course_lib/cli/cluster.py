"""Commands for a cluster: `course run` and `course check` on the ranks that torchrun started, and `course plan`."""

from __future__ import annotations

import json
import os
import sys
import traceback
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from course_lib.cluster_check import Checkup


# --- `course run module:function`: a program of your own, on the ranks that torchrun has started.


@click.command()
@click.argument("target", metavar="MODULE:FUNCTION")
@click.option(
    "--args", "arguments", default="[]", metavar="JSON", help="What follows comm: a JSON list, or an object of names."
)
@click.option("--trace", type=click.Path(dir_okay=False, writable=True), help="Write the timeline for ui.perfetto.dev.")
@click.option("--device", type=click.Choice(["auto", "cpu", "gpu"]), default="auto", show_default=True)
def run(target: str, arguments: str, trace: str | None, device: str) -> None:
    """Run FUNCTION(comm, ...) of MODULE on every rank that torchrun has started, and print what crossed the wire.

    \b
    One machine:  torchrun --nproc-per-node 4 -m course_lib run my_module:my_program --args '[1000]'
    Two nodes:    torchrun --nnodes 2 --nproc-per-node 4 --rdzv-backend c10d --rdzv-endpoint node0:29500
                  -m course_lib run my_module:my_program
    """
    from course_lib.comm.errors import CommError
    from course_lib.comm.processes.machine import under_torchrun
    from course_lib.comm.transport.torchrun import find_program, run_target, tell_agent

    values = _parse(arguments)
    try:
        find_program(target)
    except ValueError as error:
        raise click.UsageError(str(error)) from error
    try:
        run_target(target, values, trace, device)
    except (CommError, ValueError) as error:
        text = error.full_text() if isinstance(error, CommError) else f"{type(error).__name__}: {error}"
        click.echo(text, err=True)
        tell_agent(error)
        _leave(1, hard=under_torchrun())
    except Exception as error:
        if not under_torchrun():
            raise
        traceback.print_exc()  # and no clean-up of a process group whose other ranks are gone: it may wait for them
        tell_agent(error)
        _leave(1, hard=True)
    _leave(0, hard=under_torchrun())


def _parse(arguments: str) -> list[Any] | dict[str, Any]:
    try:
        values = json.loads(arguments)
    except json.JSONDecodeError as error:
        raise click.UsageError(f"--args is not JSON ({error}): {arguments}") from error
    if not isinstance(values, (list, dict)):
        raise click.UsageError(f"--args must be a JSON list or object, got {arguments}")
    return values


def _leave(status: int, hard: bool) -> None:
    """Exit; `hard` is at once, without the clean-up of a process group.

    There a Gloo worker can abort although its work is done, and it may wait for other ranks that are gone.
    """
    sys.stdout.flush()
    sys.stderr.flush()
    if hard:
        os._exit(status)
    sys.exit(status)


# --- `course check`: what one runs before the first training on machines that one does not know.


@click.command()
@click.option("--timeout", "timeout_s", default=60.0, show_default=True, help="Seconds that ranks are waited for.")
@click.option("--picture", default="check.png", show_default=True, help="Where rank 0 draws it; '' for nowhere.")
@click.option("--device", type=click.Choice(["auto", "cpu", "gpu"]), default="auto", show_default=True)
@click.option("--endpoint", default="", metavar="HOST:PORT", help="Where all meet, if no launcher says it.")
@click.option("--nnodes", "nodes", default=0, help="Without torchrun: one process on each of so many machines.")
@click.option("--node-rank", default=None, type=int, help="Which of them this is; else they are numbered as they come.")
def check(timeout_s: float, picture: str, device: str, endpoint: str, nodes: int, node_rank: int | None) -> None:
    """Check the ranks' machines, addresses, limits, clocks, links and speed, and name what is wrong.

    \b
    torchrun --nnodes 2 --nproc-per-node 4 --rdzv-backend c10d --rdzv-endpoint node0:29500 -m course_lib check
    And if torchrun itself does not start, on each of the machines:
    python -m course_lib check --nnodes 2 --endpoint node0:29500
    """
    from course_lib.cluster_check import CheckError, check_up, find_place, meet
    from course_lib.comm.transport.torchrun import tell_agent

    try:
        meeting = meet(find_place(endpoint, nodes, node_rank), timeout_s)
    except ValueError as error:
        raise click.UsageError(str(error)) from error
    except CheckError as error:
        click.echo(str(error), err=True)
        tell_agent(error)
        _leave(1, hard=True)
    found = check_up(meeting, device)
    meeting.say_once(found.speaker, lambda: _say(found, picture), found.absent)
    if not found.good:
        tell_agent(CheckError(found.findings))
    _leave(0 if found.good else 1, hard=True)


def _say(found: Checkup, picture: str) -> None:
    from course_lib.cluster_check import draw_checkup, page_of

    click.echo(page_of(found))
    if picture and found.products:
        draw_checkup(found).savefig(picture)
        click.echo(f"\nThe same as a picture: {os.path.abspath(picture)}")


# --- `course plan`: whether a model fits, on what, how fast, and how far such an estimate was off.


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
    from course_lib.planning import ConfigError, InvalidPlanError, answer_lines, read_fields, shape_of

    try:
        shape = shape_of(read_fields(model), sequence)
        lines = answer_lines(shape, gpus, gpu, batch, own)
    except (ConfigError, InvalidPlanError) as error:
        raise click.ClickException(str(error)) from error
    click.echo("\n".join(lines))
