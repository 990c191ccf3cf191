"""`course desk`: makes a student's desk, or brings it up to date."""

from __future__ import annotations

from pathlib import Path

import click

__all__ = ["desk"]


@click.command()
@click.argument("path", type=click.Path(path_type=Path), default="desk")
def desk(path: Path) -> None:
    """Make a desk at PATH (default: ./desk), or bring it up to date: chapters, exercises, a start page.

    What you have changed or run there stays; the course's newer version is laid beside it under another name.
    """
    from course_lib.desk import START, DeskError, lay, write_start_page

    try:
        said = [*lay(path), write_start_page(path)]
    except DeskError as error:
        raise click.ClickException(str(error)) from error
    except OSError as error:
        words = f"{error.filename or path}: {error.strerror}. What is on the desk is whole; call this again to go on."
        raise click.ClickException(words) from error
    for sentence in filter(None, said):
        click.echo(sentence)
    click.echo(f"The desk is {path.resolve()}; its start page is {START}.")
