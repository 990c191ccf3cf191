"""Commands of a teacher: `course grade`, `course report` and `course similar`."""

from __future__ import annotations

import contextlib
import os
import re
import shlex
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress

    from course_lib.grading.judge import Grader
    from course_lib.grading.reports.similar import Answers
    from course_lib.grading.submissions.folder import Graded, Job, Submission
    from course_lib.grading.submissions.gradebook import Gradebook


# --- `course grade`: grades one notebook or a folder of submissions, without opening Jupyter.

SECRET_BYTES = 32  # of one that is made
FEWEST_BYTES = 16


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
@click.option(
    "--secret",
    type=click.Path(dir_okay=False, path_type=Path),
    help="A file whose bytes seed all draws: the same grades again. Made if it is not there.",
)
@click.option("--resume", is_flag=True, help="Keep the grades in --out of files that have not changed since.")
@click.option("--at-once", type=click.IntRange(1), help="Submissions graded at a time; by default one for each core.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON in place of the table.")
@click.option(
    "--variants",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="The folder of `course build --variant`: notebooks of these variants are graded by them.",
)
def grade(
    path: Path,
    out: Path,
    unsafe: bool,
    level: str,
    chapter: str,
    wanted: tuple[str, ...],
    secret: Path | None,
    resume: bool,
    at_once: int | None,
    as_json: bool,
    variants: Path | None,
) -> None:
    """Grade a notebook, or every notebook in a folder (NAME.ipynb or NAME/….ipynb; NAME may be a whole desk,
    and so may the folder).

    The files with the grades are written as submissions are done; after an interrupt, go on with --resume. Grades of
    other notebooks that are in these files already stay there.

    Each rank of a submission runs in a process of its own behind walls; the command says which walls stand here and
    refuses to go on without them. The judge itself never runs a student's code.
    """
    from rich.console import Console

    from course_lib.grading.submissions import folder, gradebook
    from course_lib.grading.submissions.files import plain

    console = Console(stderr=as_json)
    _refuse_unknown(chapter, wanted)
    seed = _seed(secret, console) if secret else None
    if variants:
        _grade_variants(path, variants, chapter, as_json, console)
    book = _refusing(gradebook.Gradebook, out)
    jobs = _jobs(path, chapter, wanted, book if resume else None, console, bool(variants))
    book.forget_unread(path)
    with contextlib.ExitStack() as stack:
        graders, words = _graders(stack, console, unsafe, level, seed, min(at_once or folder.cores(), len(jobs)))
        graded, problem = _grade_all(jobs, graders, book, words, console)
    if as_json:
        click.echo(gradebook.as_json(graded, words), nl=False)
    else:
        _show(graded, path.is_file(), console)
    if problem:
        raise click.ClickException(problem)
    written = " ".join(str(out / name) for name in ("grades.csv", "grades.json"))
    console.print("Written:", plain(written), highlight=False, markup=False)
    report = f"Pages for students and about the class: course report {plain(shlex.quote(str(out)))}"
    console.print(report, highlight=False, markup=False)


def _seed(secret: Path, console: Console) -> bytes:
    """The secret's bytes; where there is none yet, a file of them that only its owner can read, which is named.

    Raises:
        click.UsageError: if it has fewer than 16 bytes.
        click.ClickException: if it can be neither read nor made.
    """
    from course_lib.grading.submissions.files import plain

    def made() -> None:
        with os.fdopen(os.open(secret, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "wb") as file:
            file.write(os.urandom(SECRET_BYTES))

    if not os.path.lexists(secret):
        _refusing(made)
        words = f"Made the secret {plain(str(secret))}: keep it until the grades are final, and from your students."
        console.print(words, highlight=False, markup=False, soft_wrap=True)
    seed: bytes = _refusing(secret.read_bytes)
    if len(seed) < FEWEST_BYTES:
        raise click.UsageError(f"the secret must have at least {FEWEST_BYTES} bytes, {secret} has {len(seed)}")
    return seed


def _refusing(function: Any, *args: Any) -> Any:
    """Call this; an error of the grade book ends the command with one sentence."""
    from course_lib.grading.judge import LauncherError
    from course_lib.grading.submissions.gradebook import GradebookError

    try:
        return function(*args)
    except (GradebookError, LauncherError, OSError) as error:
        raise click.ClickException(str(error)) from error


def _grade_variants(path: Path, variants: Path, chapter: str, as_json: bool, console: Console) -> None:
    """Grade the notebooks of each variant in a process of its own, which has that variant's exercises.

    Raises:
        click.ClickException: if a notebook is of a variant that is not in this folder, or a process fails.
    """
    from course_lib.grading.exercises.variants import VariantError
    from course_lib.grading.submissions import variants as mixed
    from course_lib.grading.submissions.files import plain
    from course_lib.grading.submissions.folder import collect

    if mixed.is_part():
        return
    if as_json:
        raise click.UsageError("a mix of variants has a table each: read grades.json of --out in place of --json")
    try:
        found = _refusing(collect, path, chapter)
        packs = mixed.packs_for(found, variants)
    except VariantError as error:
        raise click.ClickException(str(error)) from error
    for name, pack in packs.items():
        console.print(f"Notebooks of variant {name}", highlight=False)
        if mixed.run_with(pack):
            raise click.ClickException(f"grading the notebooks of variant {name} failed; its own words stand above")
    own = sorted({one.student for one in found if one.cells and not mixed.variant_of(one.path)})
    console.print(
        f"Notebooks of the course's own exercises: {', '.join(map(plain, own)) or 'none'}",
        highlight=False,
        markup=False,
    )


def _jobs(
    path: Path, chapter: str, wanted: tuple[str, ...], book: Gradebook | None, console: Console, is_mix: bool = False
) -> list[Job]:
    """The grading jobs; with --resume they know the grades of an earlier run, in a mix those of one variant."""
    from course_lib.grading.exercises.variants import VariantError
    from course_lib.grading.submissions import files, folder
    from course_lib.grading.submissions.tables import leftovers
    from course_lib.grading.submissions.variants import mine

    found = _refusing(folder.collect, path, chapter)
    for words in _refusing(leftovers, path, found, chapter) if path.is_dir() else ():
        console.print(words, highlight=False, markup=False, style="yellow", soft_wrap=True)
    if path.is_dir() and not any(files.is_notebook(one.path.name) for one in found):
        raise click.ClickException("no notebook (*.ipynb) that somebody worked in, in this folder")
    try:
        found = mine(found, is_mix)
    except VariantError as error:
        raise click.ClickException(str(error)) from error
    some = {one.path for one in found if folder.exercises_for(one, wanted)}  # of a notebook of two chapters perhaps one
    found = [one for one in found if folder.exercises_for(one, wanted) or one.path not in some]
    jobs = [folder.Job(one, book.known(one) if book else {}, wanted) for one in found]
    if book:
        kept = sum(not job.left for job in jobs)
        console.print(f"{kept} of {len(found)} were graded before and have not changed", highlight=False)
    return jobs


def _graders(
    stack: contextlib.ExitStack, console: Console, unsafe: bool, level: str, seed: bytes | None, count: int
) -> tuple[list[Grader], str]:
    """Graders with ranks of their own, and in words which walls stand around these."""
    from course_lib.grading.judge import LEVELS, Grader, Launcher, best_level, describe, refusal

    if best_level() == "unsafe" and not unsafe:
        raise click.ClickException(refusal())
    wanted = LEVELS["unsafe" if unsafe else level or best_level()]
    first = stack.enter_context(Launcher(wanted))
    _refusing(first.start)
    if not first.walls.seccomp and not unsafe:
        raise click.ClickException("\n".join([refusal(), *first.notes]))
    words = describe(first.walls)
    console.print(f"Protection: {words}", *first.notes, highlight=False)
    launchers = [first, *(stack.enter_context(Launcher(first.walls)) for _ in range(count - 1))]
    for launcher in launchers:
        launcher.insist()
    return [Grader(launcher, seed) for launcher in launchers], words


def _grade_all(
    jobs: list[Job], graders: list[Grader], book: Gradebook, words: str, console: Console
) -> tuple[list[Graded], str]:
    """All submissions with their grades, in order, and what ended this early, if something did."""
    from course_lib.grading.submissions.folder import grade_all
    from course_lib.grading.submissions.gradebook import GradebookError

    done: dict[int, Graded] = {}
    problem = ""
    with _progress(console) as progress:
        task = progress.add_task("Grading", total=sum(len(job.left) for job in jobs), submissions=f"of {len(jobs)}")
        try:
            book.write(words)
            try:
                for number, one in grade_all(jobs, graders, lambda _: progress.advance(task)):
                    done[number] = one
                    book.add(one)
                    book.write_if_cheap(words)
                    progress.update(task, submissions=f"{len(done)} of {len(jobs)}")
            finally:
                book.write(words)
        except GradebookError as error:
            problem = str(error)
    return [done[number] for number in sorted(done)], problem


def _progress(console: Console) -> Progress:
    """A progress bar with the time left."""
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    columns = [TextColumn("{task.description} {task.fields[submissions]} submissions"), BarColumn()]
    return Progress(*columns, TimeRemainingColumn(), TextColumn("left"), console=console, transient=True)


def _show(graded: list[Graded], single: bool, console: Console) -> None:
    from course_lib.grading.submissions import tables

    for table in map(tables.one_table, graded) if single else tables.class_tables(graded):
        console.print(table)


def _refuse_unknown(chapter: str, wanted: tuple[str, ...]) -> None:
    from course_lib.grading import exercises

    try:
        if chapter:
            exercises.exercises_of(chapter)
        for name in wanted:
            exercises.find(name)
    except KeyError as error:
        raise click.UsageError(error.args[0]) from error


# --- `course report`: pages for the students and about the class, and tables for a learning platform.


@click.command()
@click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path), default=".")
@click.option(
    "--ids",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="A CSV file: student, id; or an export of Moodle or Canvas.",
)
@click.option("--nbgrader", type=click.Path(dir_okay=False, path_type=Path), help="Also fill nbgrader's gradebook.db.")
def report(folder: Path, ids: Path | None, nbgrader: Path | None) -> None:
    """Make pages of the grades that `course grade --out FOLDER` wrote.

    FOLDER/reports/class.html is about the class, FOLDER/reports/students has a page for each student, and
    FOLDER/reports/platform.csv a row for each of them and of those in --ids, with the ids that a platform knows.
    """
    from course_lib.grading.reports.classroom import class_page
    from course_lib.grading.reports.platform import PlatformError, absent, platform_rows, read_ids, without_id
    from course_lib.grading.reports.student import student_page
    from course_lib.grading.submissions.files import plain
    from course_lib.grading.submissions.gradebook import Gradebook, GradebookError, csv_text, write_whole

    try:
        by_student = Gradebook(folder).by_student()
        if not by_student:
            call = f"course grade SUBMISSIONS --out {shlex.quote(str(folder))}"
            raise click.ClickException(f"no grades in {folder}: `{call}` writes them")
        known = read_ids(ids, by_student) if ids else None
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
    from course_lib.grading.reports.platform import add_to_nbgrader

    try:
        count = add_to_nbgrader(database, by_student)
    except ImportError as error:
        raise click.ClickException(f"nbgrader is not installed here ({error}): pip install nbgrader") from error
    return f"; {count} scores in {database}"


# --- `course similar`: a page of the answers of a class that are like each other, or like a public one.


@click.command()
@click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("--out", type=click.Path(dir_okay=False, path_type=Path), default="similar.html", help="The page.")
@click.option("--chapter", default="", help="Two digits; by default what the notebooks' functions say.")
def similar(folder: Path, out: Path, chapter: str) -> None:
    """Compare the answers in FOLDER, laid out as for `course grade`, with each other and with the public ones.

    Nothing is run. The page shows shared passages side by side, and says what they do not prove.
    """
    from course_lib.files import write_atomically
    from course_lib.grading import exercises
    from course_lib.grading.reports.similar import similar_page
    from course_lib.grading.submissions.files import plain
    from course_lib.grading.submissions.folder import collect

    try:
        if chapter:
            exercises.exercises_of(chapter)
        found = collect(folder, chapter)
        answers = _answers([one for one in found if one.chapter and not one.problem])
        write_atomically(out, similar_page(answers, sum(bool(one.problem) for one in found)).encode("utf-8", "replace"))
    except (KeyError, OSError) as error:
        raise click.ClickException(error.args[0] if isinstance(error, KeyError) else str(error)) from error
    click.echo(f"Written: {plain(str(out))}")


def _answers(submissions: Iterable[Submission]) -> list[Answers]:
    """All that was attempted, by exercise; of several notebooks of a student the last one counts."""
    from course_lib.grading import exercises
    from course_lib.grading.exercises import sources
    from course_lib.grading.reports.similar import Answers
    from course_lib.grading.submissions.folder import given_for

    by_chapter: dict[str, list[Submission]] = {}
    for one in submissions:
        by_chapter.setdefault(one.chapter, []).append(one)
    found = []
    for chapter, those in sorted(by_chapter.items()):
        given_cells = given_for(chapter)
        for exercise in exercises.exercises_of(chapter):
            given = _source_of(given_cells, exercise.function)
            written = {one.student: _source_of(one.cells, exercise.function) for one in those}
            students = {
                student: source for student, source in written.items() if source.strip() not in ("", given.strip())
            }
            catalogue = sources.answers_of(exercise.id) if sources.IS_CLONE else {}
            public = {name: source for kind in catalogue.values() for name, source in kind}
            public["solution"] = sources.program(exercise.id)[1]
            found.append(Answers(exercise.id, given, students, public))
    return found


def _source_of(cells: Iterable[tuple[list[str], str]], function: str) -> str:
    """The last code cell that defines this function; nothing if none does."""
    from course_lib.grading.submissions.notebook import NO_CODE, defines

    found = [
        source for tags, source in cells if defines(source, function) and not "".join(tags[:1]).startswith(NO_CODE)
    ]
    return found[-1] if found else ""
