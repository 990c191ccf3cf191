"""`course run module:function`: a program of your own, on the ranks that torchrun has started."""

import click

__all__ = ["run"]


@click.command(context_settings={"ignore_unknown_options": True})
@click.argument("program", metavar="MODULE:FUNCTION")
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def run(program: str, arguments: tuple[str, ...]) -> None:
    """Run FUNCTION(comm, *ARGUMENTS) of MODULE on every rank that torchrun has started.

    \b
    One machine:  torchrun --nproc-per-node 4 -m course_lib run my_module:my_program
    Two nodes:    torchrun --nnodes 2 --nproc-per-node 4 --rdzv-backend c10d --rdzv-endpoint node0:29500
                  -m course_lib run my_module:my_program
    """
    from course_lib.comm.torchrun import run_target

    run_target(program, arguments)
