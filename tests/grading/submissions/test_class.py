"""A class's folder, whatever lies in it: graded or named, under the name of whose it is."""

import json
import os
import shutil
import unicodedata
from pathlib import Path

import pytest
from click.testing import CliRunner

from course_lib.cli.grading import grade
from course_lib.grading.exercises import exercises_of
from course_lib.grading.judge.grader import Grade
from course_lib.grading.submissions.files import NOBODY, copy_of, plain
from course_lib.grading.submissions.folder import Graded, collect, exercises_for
from course_lib.grading.submissions.gradebook import Gradebook
from course_lib.grading.submissions.tables import leftovers

EXERCISES = Path(__file__).parents[3] / "exercises"
posix = pytest.mark.skipif(os.name != "posix", reason="other systems have no such files")


def page(*chapters, worked=True):
    """A notebook of these chapters' exercises, with answers of a sort."""
    pages = [json.loads(next(EXERCISES.glob(f"{chapter}_*.ipynb")).read_text()) for chapter in chapters]
    text = json.dumps(pages[0] | {"cells": [cell for each in pages for cell in each["cells"]]})
    return (text.replace("raise NotImplementedError", "return 1") if worked else text).encode()


PAGE = page("02")


def put(folder, name, content=PAGE):
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return path


def students(folder):
    """Whose notebooks are graded, and of which chapter each is."""
    return [(one.student, one.path.name, one.chapter) for one in collect(folder) if not one.problem]


def told(folder):
    return "\n".join(leftovers(folder, collect(folder)))


# What may lie beside ann.ipynb, and whether it is graded.
GRADED = [
    "bea.ipynb",
    "bea.IPYNB",
    "bea.ipynb ",
    " bea.ipynb",
    "b e a.ipynb",
    "bea/x.ipynb",
    "bea /x.ipynb",
    "béa.ipynb",
]
GRADED += ["bea/exercises/02_allreduce.ipynb", "bea/02_allreduce (1).ipynb", "bea/12_failures-1.ipynb", "-bea.ipynb"]
GRADED += ["bea.ipynb/x.ipynb", "bea.ipynb/exercises/02_allreduce.ipynb"]  # as bea.ipynb.zip unpacks
NAMED = [
    "bea.zip",
    "bea.tar.gz",
    "bea.7z",
    "bea.json",
    "bea.py",
    "bea.pdf",
    "bea.docx",
    "bea.ipynb.txt",
    "bea.txt",
    "bea",
]
NAMED += [
    "bea/02.zip",
    "bea/deep/02.ipynb",
    "bea.ipynb~",
    "bea.ipynb.part",
    "12_failures-1.ipynb",
    "02_allreduce.ipynb",
]
NAMED += [
    "02_Allreduce (2).ipynb",
    "02_allreduce - Copy.ipynb",
    "bea/.DS_Store",
    "bea/exercises/x.py",
    "bea.html",
    "=1.csv",
]
NAMED += ["bea.ipynb/x.py", "bea.ipynb/deep/x.ipynb", "02_allreduce-checkpoint.ipynb", "12_failures - Копия.ipynb"]
ASIDE = ["ann.zip", "ann/helper.py", ".bea.ipynb", ".bea/02.ipynb"]
SILENT = [
    ".DS_Store",
    "._ann.ipynb",
    "__MACOSX/._ann.ipynb",
    "Thumbs.db",
    "desktop.ini",
    ".ipynb_checkpoints/ann.ipynb",
]
SILENT += [
    "ids.csv",
    "grades.csv",
    "grades.json",
    "class.key",
    "grades/grades.json",
    "reports/class.html",
    "~$essay.docx",
]


@pytest.mark.parametrize("name", GRADED + NAMED + ASIDE)
def test_whatever_lies_in_the_folder_is_graded_or_named(tmp_path, name):
    put(tmp_path, "ann.ipynb")
    put(tmp_path, "ann/ann.ipynb")
    put(tmp_path, name)
    top = plain(name.split("/")[0])
    rows = [one for one in collect(tmp_path) if plain(str(one.path.relative_to(tmp_path))).startswith(top)]
    if name in GRADED:
        assert [one.problem for one in rows] == [""]
    if name in NAMED:
        assert [bool(one.problem) for one in rows] == [True]
        assert f"Nothing to grade in {top}" in told(tmp_path)
    if name in ASIDE:
        assert [line for line in told(tmp_path).splitlines() if line.startswith(f"Not graded: {top}")]


@pytest.mark.parametrize("name", SILENT)
def test_what_systems_and_the_course_leave_there_is_nobody_s(tmp_path, name):
    for each in ("ann.ipynb", name, f"bea/{name}", "bea/x.ipynb"):
        put(tmp_path, each)
    assert [student for student, _, _ in students(tmp_path)] == ["ann", "bea"]
    assert len(collect(tmp_path)) == 2
    assert told(tmp_path) == ""


@posix
def test_links_pipes_and_folders_that_cannot_be_read_are_named(tmp_path, monkeypatch):
    put(tmp_path, "ann.ipynb")
    for name, target in {
        "bea": "ann.ipynb",
        "cem": "nowhere",
        "dee.ipynb": "ann.ipynb",
        "eve": ".",
        "fay.zip": "x",
    }.items():
        (tmp_path / name).symlink_to(target)
    os.mkfifo(tmp_path / "gus")
    put(tmp_path, "hal/x.ipynb")
    plainly = Path.iterdir

    def refusing(self):
        if self.name == "hal":
            raise PermissionError(13, "Permission denied")
        return plainly(self)

    monkeypatch.setattr(Path, "iterdir", refusing)
    found = {one.student: one.problem for one in collect(tmp_path)}
    assert list(found) == ["ann", "bea", "cem", "dee", "eve", "fay", "gus", "hal"]
    assert [name for name, problem in found.items() if not problem] == ["ann"]
    assert found["hal"] == "this folder cannot be read: Permission denied"
    assert told(tmp_path).count("Nothing to grade in") == 7


@posix
def test_one_name_in_both_forms_or_with_spaces_is_one_student_and_each_file_counts(tmp_path):
    apart = unicodedata.normalize("NFD", "Jürgen Zoë")
    for number, name in enumerate(["Jürgen Zoë", "Jürgen Zoë ", apart, "Jürgen  Zoë", "Jürgen\u00a0Zoë"]):
        put(tmp_path, f"{name}/02_allreduce.ipynb", PAGE + b" " * number)
        put(tmp_path, f"{name}.ipynb", PAGE + b" " * (number + 5))
    found = collect(tmp_path)
    assert {one.student for one in found} == {"Jürgen Zoë"}
    graded = [Graded(one.student, plain(str(one.path)), [Grade("02a", "", 0, 2, [])], one.digest) for one in found]
    assert len({one.key for one in graded}) == len(graded) == 10
    assert not told(tmp_path)


def test_copies_are_their_owner_s_where_that_is_sure_and_named_where_it_is_not(tmp_path):
    for name in (
        "ann",
        "ann (1)",
        "ann - Copy",
        "Copy of ann",
        "ann - 副本",
        "ann-Copy1",
        "ann_final",
        "ann-1",
        "bea (2)",
        "Ann",
    ):
        put(tmp_path, f"{name}.ipynb")
    assert {student for student, _, _ in students(tmp_path)} == {"ann", "ann-1", "bea (2)", "Ann"}
    alike = ["Ann and ann are graded as two students", "ann-1 and ann are graded as two students"]
    assert [line.partition(":")[0] for line in told(tmp_path).splitlines()] == alike
    assert copy_of("9" * 200 + "x", ["ann"]) == ("", False)  # at once


def test_a_file_with_a_page_s_name_is_no_student_of_that_name(tmp_path):
    for name in ("ann.ipynb", "12_failures-1.ipynb", "12_failures (2).ipynb", "02_allreduce_bea.ipynb"):
        put(tmp_path, name)
    assert [student for student, _, _ in students(tmp_path)] == ["02_allreduce_bea", "ann"]
    assert [one.student for one in collect(tmp_path) if one.problem] == [NOBODY] * 2


def test_a_folder_with_nothing_but_pages_each_once_is_one_student_s(tmp_path):
    put(tmp_path, "ann/02_allreduce.ipynb")
    put(tmp_path, "ann/12_failures (1).ipynb", page("12"))
    assert [(student, chapter) for student, _, chapter in students(tmp_path / "ann")] == [("ann", "02"), ("ann", "12")]
    put(tmp_path, "ann/12_failures (2).ipynb", page("12"))  # two students' then, perhaps
    assert students(tmp_path / "ann") == []


def test_two_notebooks_of_one_chapter_are_both_graded(tmp_path):
    for name in ("12_failures", "12_failures-1", "12_failures (1)", "12_failures copy", "12_failures_final"):
        put(tmp_path, f"ann/{name}.ipynb", page("12"))
    assert [(student, chapter) for student, _, chapter in students(tmp_path)] == [("ann", "12")] * 5


def test_a_notebook_of_two_chapters_counts_for_both_and_single_answers_of_a_third_are_named(tmp_path):
    both = json.loads(page("02", "12"))
    names = [exercise.function for exercise in exercises_of("05")[:3]]
    source = "".join(f"def {name}(): return 1\n" for name in names)
    strayed = {"cell_type": "code", "metadata": {}, "outputs": [], "source": source}
    put(tmp_path, "ann.ipynb", json.dumps(both | {"cells": [*both["cells"], strayed]}).encode())
    assert students(tmp_path) == [("ann", "ann.ipynb", "02"), ("ann", "ann.ipynb", "12")]
    assert told(tmp_path) == "ann.ipynb also has 05a, 05b, 05c, not graded: --chapter 05 grades these"
    assert [one.chapter for one in collect(tmp_path, "12")] == ["12"]


def test_what_cannot_be_graded_has_a_row_whichever_exercises_are_asked_for(tmp_path):
    put(tmp_path, "ann.ipynb")
    put(tmp_path, "12_failures-1.ipynb")
    put(tmp_path, "bea.zip")
    found = {one.student: exercises_for(one, ["02a"]) for one in collect(tmp_path)}
    assert found == {"ann": ["02a"], "bea": ["02a"], NOBODY: ["-"]}


def test_of_the_course_s_own_pages_each_holds_its_chapter_alone(tmp_path):
    for each in EXERCISES.glob("*.ipynb"):
        shutil.copy(each, put(tmp_path, f"ann/{each.name}"))
    assert [chapter == name[:2] for _, name, chapter in students(tmp_path)] == [True] * 13
    assert told(tmp_path) == ""


def test_a_student_whose_desk_is_untouched_is_named(tmp_path):
    shutil.copytree(EXERCISES, tmp_path / "ann" / "exercises")
    put(tmp_path, "bea.ipynb")
    assert [(one.student, bool(one.problem)) for one in collect(tmp_path)] == [("bea", False), ("ann", True)]
    assert "Nothing to grade in ann: nothing on this desk that somebody worked in" in told(tmp_path)


def test_on_a_desk_a_student_s_own_notebooks_are_graded_in_exercises_and_named_elsewhere(tmp_path):
    shutil.copytree(EXERCISES, tmp_path / "ann" / "exercises")
    lectures = [put(tmp_path, f"ann/notebooks/{name}.ipynb") for name in ("02_allreduce", "02_allreduce.newer", "try")]
    put(tmp_path, "ann/exercises/mine.ipynb")
    assert [name for _, name, _ in students(tmp_path)] == ["mine.ipynb"]
    assert [one.path.name for one in collect(tmp_path, "02")] == ["02_allreduce.ipynb", "mine.ipynb"]
    assert told(tmp_path) == f"Not graded: {lectures[2].relative_to(tmp_path).as_posix()}"


def test_what_was_only_named_is_forgotten_once_it_is_gone(tmp_path):
    unread = [Grade("02a", "", 0.0, 2.0, ["an archive"], state="not read")]
    book = Gradebook(tmp_path / "out")
    book.add(Graded("bea", "in/bea.zip", unread))
    book.add(Graded("cem", "other/cem.zip", unread))
    book.add(Graded("dee", "in/dee.ipynb", unread, "digest"))
    book.forget_unread(Path("in"))
    assert list(book.by_student()) == ["cem", "dee"]


def test_known_grades_are_found_again_whichever_form_a_name_was_kept_in(tmp_path):
    apart = unicodedata.normalize("NFD", "Jürgen")
    grades = [Grade("02a", "", 2.0, 2.0, [])]
    first = Gradebook(tmp_path)
    for name in ("Jürgen", apart):
        first._graded[name, "", ""] = Graded(name, f"in/{name}/02.ipynb", grades, name)
    first.write("")
    book = Gradebook(tmp_path)
    assert list(book.by_student()) == ["Jürgen"]
    assert len(book._graded) == 2
    (one,) = collect(put(tmp_path, "Jürgen.ipynb"))
    one.digest = apart
    assert book.known(one)["02a"].points == 2.0


def test_without_any_notebook_all_is_named_and_nothing_graded(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    put(tmp_path, "in [1]/bea.zip")
    result = CliRunner().invoke(grade, ["in [1]"])
    assert result.exit_code == 1
    assert "Nothing to grade in bea.zip: an archive: unpack it into the folder bea/" in result.output
    assert "no notebook (*.ipynb) that somebody worked in" in result.output
