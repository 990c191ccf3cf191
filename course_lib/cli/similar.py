"""`course similar`: a page of the answers of a class that are like each other, or like a public one."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from course_lib.grading.reports.similar import Answers
    from course_lib.grading.submissions.folder import Submission

__all__ = ["similar"]


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
    from course_lib.grading.submissions.folder import collect
    from course_lib.grading.submissions.names import plain

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
    from course_lib.grading.submissions.holds import given_for

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
