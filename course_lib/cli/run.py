"""`course run module:function`: a program of your own, on the ranks that torchrun has started."""

from __future__ import annotations

import json
import os
import sys
import traceback
from typing import Any

import click

__all__ = ["run"]


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
    from course_lib.comm.torchrun import find_program, run_target, tell_agent, under_torchrun

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
    """Leave at once under torchrun: a Gloo worker can abort in its clean-up although its work is done."""
    sys.stdout.flush()
    sys.stderr.flush()
    if hard:
        os._exit(status)
    sys.exit(status)
