"""`course report`: pages for the students and about the class, and tables for a learning platform."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

import click

__all__ = ["report"]


@click.command()
@click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path), default=".")
@click.option("--ids", type=click.Path(exists=True, dir_okay=False, path_type=Path), help="A CSV file: student, id.")
@click.option("--nbgrader", type=click.Path(dir_okay=False, path_type=Path), help="Also fill nbgrader's gradebook.db.")
def report(folder: Path, ids: Path | None, nbgrader: Path | None) -> None:
    """Make pages of the grades that `course grade --out FOLDER` wrote.

    FOLDER/reports/class.html is about the class, FOLDER/reports/students has a page for each student, and
    FOLDER/reports/platform.csv a row for each of them and of those in --ids, with the ids that a platform knows.
    """
    from course_lib.grading.reports.classroom import class_page
    from course_lib.grading.reports.platform import PlatformError, absent, platform_rows, read_ids, without_id
    from course_lib.grading.reports.student import student_page
    from course_lib.grading.submissions.gradebook import Gradebook, GradebookError, csv_text, write_whole
    from course_lib.grading.submissions.names import plain

    try:
        by_student = Gradebook(folder).by_student()
        if not by_student:
            call = f"course grade SUBMISSIONS --out {shlex.quote(str(folder))}"
            raise click.ClickException(f"no grades in {folder}: `{call}` writes them")
        known = read_ids(ids) if ids else None
        rows = platform_rows(by_student, known)
        out = folder / "reports"
        (out / "students").mkdir(parents=True, exist_ok=True)
        links = {student: f"students/{_file_name(n, student)}" for n, student in enumerate(sorted(by_student), 1)}
        for student, link in links.items():
            write_whole(out / link, student_page(student, by_student[student]))
        missing = absent(by_student, known)
        write_whole(out / "class.html", class_page(by_student, links, missing))
        write_whole(out / "platform.csv", csv_text(rows))
        added = _add_to_nbgrader(nbgrader, by_student) if nbgrader else ""
    except (GradebookError, PlatformError, OSError) as error:
        raise click.ClickException(str(error)) from error
    if known and (words := without_id([*by_student, *missing], known)):
        click.echo(f"Warning: {words}", err=True)
    if missing:
        click.echo(
            f"Nothing handed in by {', '.join(missing)}: 0 points in {plain(str(out / 'platform.csv'))}", err=True
        )
    words = f"{out / 'class.html'}, {len(links)} pages in {out / 'students'}, {out / 'platform.csv'}{added}"
    click.echo(f"Written: {plain(words)}")


def _file_name(number: int, student: str) -> str:
    """A file name that every system takes and that tells whose it is."""
    return f"{number:03d}_{re.sub(r'[^A-Za-z0-9_-]+', '_', student)[:40]}.html"


def _add_to_nbgrader(database: Path, by_student: dict[Any, Any]) -> str:
    from course_lib.grading.reports.nbgrader import add_to_nbgrader

    try:
        count = add_to_nbgrader(database, by_student)
    except ImportError as error:
        raise click.ClickException(f"nbgrader is not installed here ({error}): pip install nbgrader") from error
    return f"; {count} scores in {database}"
