"""Commands of a student: `course desk` makes or updates the desk, `course progress` shows points and the next step."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from rich.table import Table

    from course_lib.desk import ChapterOutline, KeptPoints


# --- `course desk`: makes a student's desk, or brings it up to date.


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


# --- `course progress`: the start page's table and next step, in the terminal.


@click.command()
@click.argument("path", type=click.Path(exists=True, file_okay=False, path_type=Path), required=False)
def progress(path: Path | None) -> None:
    """Show chapters, exercises and points of the desk at PATH (default: the one around you, or ./desk)."""
    from rich.console import Console

    from course_lib.desk import DeskError, desk_around, kept_points, next_step, outline
    from course_lib.desk.start import points_kept, unread_pages

    desk = desk_around((path or Path()).resolve()) or desk_around(Path("desk").resolve())
    if desk is None:
        raise click.ClickException("no desk here: `course desk` makes one, or name it, `course progress PATH`")
    try:
        chapters, kept = outline(), kept_points(desk)
    except (DeskError, OSError) as error:
        raise click.ClickException(str(error)) from error
    console = Console()
    console.print(_table(desk, chapters, kept))
    for words in unread_pages(desk, chapters):
        console.print(words, highlight=False, markup=False, style="yellow")
    words, link = next_step(desk, chapters, kept)
    points, most = points_kept(chapters, kept), sum(each.points for each in chapters)
    console.print(f"{points:g} of {most:g} points by `check`; grades are your teacher's.", highlight=False)
    console.print(f"Next: {words} ({link})", highlight=False, markup=False)


def _table(desk: Path, chapters: list[ChapterOutline], kept: dict[str, KeptPoints]) -> Table:
    from rich import box
    from rich.markup import escape
    from rich.table import Table

    from course_lib.desk.start import COLUMNS, table_rows

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for name in COLUMNS:
        table.add_column(
            name, justify="left" if name in ("chapter", "needs", "exercises") else "right", overflow="fold"
        )
    for row in table_rows(desk, chapters, kept, lambda words, _: words):
        table.add_row(*map(escape, row))
    return table
