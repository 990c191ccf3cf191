"""`course check`: what one runs before the first training on machines that one does not know."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from course_lib.cluster_check import Checkup

__all__ = ["check"]


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
    from course_lib.comm.torchrun import tell_agent

    try:
        meeting = meet(find_place(endpoint, nodes, node_rank), timeout_s)
    except ValueError as error:
        raise click.UsageError(str(error)) from error
    except CheckError as error:
        click.echo(str(error), err=True)
        tell_agent(error)
        _leave(1)
    found = check_up(meeting, device)
    meeting.say_once(found.speaker, lambda: _say(found, picture), found.absent)
    if not found.good:
        tell_agent(CheckError(found.findings))
    _leave(0 if found.good else 1)


def _say(found: Checkup, picture: str) -> None:
    from course_lib.cluster_check import draw_checkup, page_of

    click.echo(page_of(found))
    if picture and found.products:
        draw_checkup(found).savefig(picture)
        click.echo(f"\nThe same as a picture: {os.path.abspath(picture)}")


def _leave(status: int) -> None:
    """Leave at once: a process group whose other ranks are gone may wait for them in its clean-up."""
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)
