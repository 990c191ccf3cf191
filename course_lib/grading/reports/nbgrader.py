"""The grades in nbgrader's own gradebook, as scores that a teacher gave by hand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from course_lib.grading.submissions.folder import Graded


def add_to_nbgrader(database: Path, by_student: Mapping[str, Sequence[Graded]]) -> int:
    """Put every grade into this SQLite database, which is made if it is not there; returns how many there were.

    Each chapter is an assignment `chapter_02` with a notebook of the same name and a grade cell for each exercise.
    Answers without a grade are left out.

    Raises:
        ImportError: if nbgrader is not installed.
    """
    from nbgrader.api import Gradebook

    count = 0
    with Gradebook(f"sqlite:///{database.resolve()}") as book:
        for student, handed_in in by_student.items():
            book.update_or_create_student(student)
            for one in handed_in:
                name = f"chapter_{one.key[2]}"
                grades = [grade for grade in one.grades if not grade.state]
                if not grades:
                    continue
                book.update_or_create_assignment(name)
                book.update_or_create_notebook(name, name)
                for grade in grades:
                    book.update_or_create_grade_cell(grade.exercise, name, name, max_score=grade.most, cell_type="code")
                book.update_or_create_submission(name, student)
                for grade in grades:
                    book.find_grade(grade.exercise, name, name, student).manual_score = grade.points
                    count += 1
        book.db.commit()
    return count
