"""`course grade`: grades one notebook or a folder of submissions, without opening Jupyter."""

from __future__ import annotations

from pathlib import Path
from typing import Any, BinaryIO

import click

__all__ = ["grade"]


@click.command()
@click.argument("path", type=click.Path(exists=True, path_type=Path))
@click.option(
    "--out", type=click.Path(file_okay=False, path_type=Path), default=".", help="Where grades.csv and grades.json go."
)
@click.option("--unsafe", is_flag=True, help="Grade although nothing isolates the submissions from this machine.")
@click.option(
    "--level", type=click.Choice(["root", "user", "filter"]), help="Ask for a weaker protection than the best."
)
@click.option("--chapter", default="", help="Two digits; by default what the notebook's functions say.")
@click.option("--exercise", "wanted", multiple=True, help="Only this exercise, e.g. 02a; may be repeated.")
@click.option("--secret", type=click.File("rb"), help="A file whose bytes seed all draws: the same grades again.")
@click.option("--resume", is_flag=True, help="Keep the grades in --out of files that have not changed since.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON in place of the table.")
def grade(
    path: Path,
    out: Path,
    unsafe: bool,
    level: str,
    chapter: str,
    wanted: tuple,
    secret: BinaryIO | None,
    resume: bool,
    as_json: bool,
) -> None:
    """Grade a notebook, or every notebook in a folder (NAME.ipynb or NAME/….ipynb).

    The files with the grades are written after each submission; after an interrupt, go on with --resume.

    Each rank of a submission runs in a process of its own behind walls; the command says which walls stand here and
    refuses to go on without them. The judge itself never runs a student's code.
    """
    from rich.console import Console

    from course_lib.grading.judge import protection
    from course_lib.grading.judge.grader import Grader
    from course_lib.grading.judge.launcher import Launcher
    from course_lib.grading.submissions import folder, report

    console = Console(stderr=as_json)
    seed = secret.read() if secret is not None else None
    if seed is not None and len(seed) < 16:
        raise click.UsageError("the secret must have at least 16 bytes")
    _refuse_unknown(chapter, wanted)
    if protection.best_level() == "unsafe" and not unsafe:
        raise click.ClickException(protection.refusal())
    walls = protection.LEVELS["unsafe" if unsafe else level or protection.best_level()]
    with Launcher(walls) as launcher:
        words = _started(launcher, unsafe)
        console.print(f"Protection: {words}", *launcher.notes, highlight=False)
        grader = Grader(launcher, seed)
        known = _known(out) if resume else []
        graded = []
        for one in _grade_all(grader, folder.collect(path, chapter), wanted, known, console):
            graded.append(one)
            files = report.write(out, graded, words)
    if as_json:
        click.echo(report.as_json(graded, words), nl=False)
    else:
        console.print(*([report.one_table(graded[0])] if path.is_file() else report.class_tables(graded)))
    console.print("Written:", *map(str, files), highlight=False)


def _started(launcher: Any, unsafe: bool) -> str:
    """Start the launcher; returns which walls stand, in words."""
    from course_lib.grading.judge import protection
    from course_lib.grading.judge.launcher import LauncherError

    try:
        launcher.start()
    except LauncherError as error:
        raise click.ClickException(str(error)) from error
    if not launcher.walls.seccomp and not unsafe:
        raise click.ClickException("\n".join([protection.refusal(), *launcher.notes]))
    return protection.describe(launcher.walls)


def _known(out: Path) -> list:
    from course_lib.grading.submissions import report

    try:
        return report.read(out)
    except ValueError as error:
        raise click.ClickException(str(error)) from error


def _grade_all(grader, found, wanted, known, console):
    """Each of these submissions with its grades, one after the other; those that are known are not graded again."""
    from rich.progress import track

    from course_lib.grading.submissions.folder import Graded, exercises_for, grade_submission
    from course_lib.grading.submissions.notebook import digest_of

    if not found:
        raise click.ClickException("no notebook (*.ipynb) in this folder")
    before = {(one.student, one.digest, tuple(g.exercise for g in one.grades)): one for one in known if one.digest}
    kept = 0
    for submission in track(found, "Grading", console=console, transient=True, disable=len(found) < 2):
        digest = digest_of(submission.path)
        old = before.get((submission.student, digest, tuple(exercises_for(submission, wanted))))
        kept += old is not None
        grades = old.grades if old else list(grade_submission(grader, submission, wanted))
        yield Graded(submission.student, submission.path, grades, digest)
    if known:
        console.print(f"{kept} of {len(found)} were graded before and have not changed", highlight=False)


def _refuse_unknown(chapter: str, wanted: tuple) -> None:
    from course_lib.grading import exercises

    try:
        if chapter:
            exercises.exercises_of(chapter)
        for name in wanted:
            exercises.find(name)
    except KeyError as error:
        raise click.UsageError(error.args[0]) from error
