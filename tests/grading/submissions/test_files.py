"""Files that students hand in: found and read without trust."""

import hashlib
import os
import shutil
from pathlib import Path

import pytest

from course_lib.grading.submissions.files import Unreadable, find, not_graded, plain, read
from course_lib.grading.submissions.folder import collect

ROOT = Path(__file__).parents[3]

posix = pytest.mark.skipif(os.name != "posix", reason="named pipes and links of other systems differ")


def why_not(path):
    with pytest.raises(Unreadable) as caught:
        read(path)
    return str(caught.value)


def test_what_is_read_and_its_fingerprint_belong_together(tmp_path):
    (tmp_path / "ann.ipynb").write_bytes(b"{}")
    assert read(tmp_path / "ann.ipynb") == (b"{}", hashlib.sha256(b"{}").hexdigest())


@posix
def test_what_is_no_file_of_the_students_own_is_named_and_not_opened(tmp_path, monkeypatch):
    os.mkfifo(tmp_path / "pipe.ipynb")
    (tmp_path / "zero.ipynb").symlink_to("/dev/zero")
    (tmp_path / "other.ipynb").symlink_to(tmp_path / "ann.ipynb")
    (tmp_path / "ann.ipynb").write_text("{}")
    (tmp_path / "folder.ipynb").mkdir()
    (tmp_path / "empty.ipynb").touch()
    (tmp_path / "blank.ipynb").write_text(" \n\n")
    assert why_not(tmp_path / "pipe.ipynb") == "not a file"
    assert why_not(tmp_path / "zero.ipynb") == "a link to another file"
    assert why_not(tmp_path / "other.ipynb") == "a link to another file"
    assert why_not(tmp_path / "folder.ipynb") == "not a file"
    assert why_not(tmp_path / "empty.ipynb") == why_not(tmp_path / "blank.ipynb") == "an empty file"
    assert why_not(tmp_path / "gone.ipynb").startswith("it cannot be read: ")
    monkeypatch.setattr("course_lib.grading.submissions.files.MAX_BYTES", 1)
    assert why_not(tmp_path / "ann.ipynb") == "larger than 0 MiB: clear the outputs and hand it in again"


@posix
def test_a_folder_has_its_notebooks_and_those_one_level_below(tmp_path):
    for name in [
        "bea.ipynb",
        "ann/2.ipynb",
        "ann/1.ipynb",
        "ann/deep/3.ipynb",
        ".hidden/4.ipynb",
        "._bea.ipynb",
        "x.txt",
    ]:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    (tmp_path / "cem").symlink_to(tmp_path / "ann")
    found = find(tmp_path)
    assert [(one.student, one.path.name) for one in found if not one.problem] == [
        ("ann", "1.ipynb"),
        ("ann", "2.ipynb"),
        ("bea", "bea.ipynb"),
    ]
    assert [(one.student, one.problem[:24]) for one in found if one.problem] == [
        ("cem", "a link to another folder"),
        ("x", "its name does not end in"),
    ]
    assert [one.path.relative_to(tmp_path).as_posix() for one in not_graded(tmp_path)] == [".hidden", "ann/deep"]


@posix
def test_a_name_that_is_no_text_can_be_printed(tmp_path):
    name = b"b\xff\x1b[2J.ipynb"
    with open(os.path.join(os.fsencode(tmp_path), name), "wb"):
        pass
    (one,) = find(tmp_path)
    assert one.student == "b\\xff\\x1b[2J"
    one.student.encode("ascii")


def test_what_writes_backwards_is_shown_as_its_code():
    assert plain("ann\u202egnp") == "ann\\u202egnp"
    assert plain("Zoë Ł.") == "Zoë Ł."


@posix
def test_a_link_that_the_teacher_names_is_followed(tmp_path):
    (tmp_path / "ann.ipynb").write_text("{}")
    (tmp_path / "link.ipynb").symlink_to(tmp_path / "ann.ipynb")
    (one,) = find(tmp_path / "link.ipynb")
    assert read(one.path)[0] == b"{}"


def test_of_a_desk_only_the_exercises_count_that_were_touched_or_asked_for(tmp_path):
    desk = tmp_path / "ann"
    shutil.copytree(ROOT / "exercises", desk / "exercises")
    (desk / "notebooks").mkdir()
    (desk / "START.ipynb").write_text("{}")
    page = desk / "exercises" / "02_allreduce.ipynb"
    page.write_text(page.read_text().replace("raise NotImplementedError", "return tensor"))
    assert [(one.student, one.path.name) for one in collect(tmp_path)] == [("ann", page.name)]
    assert [one.path.name[:2] for one in collect(tmp_path, "04")] == ["04"]


def test_a_desk_may_be_all_that_is_graded(tmp_path, monkeypatch):
    desk = tmp_path / "ann"
    shutil.copytree(ROOT / "exercises", desk / "exercises")
    (desk / "notebooks").mkdir()
    shutil.copy(ROOT / "notebooks" / "02_allreduce.ipynb", desk / "notebooks")
    for name in ("START.md", "AGENTS.md", "AGENTS.newer.md", "GEMINI.md"):
        (desk / name).write_text("laid by the course")
    assert not collect(desk)
    assert not_graded(tmp_path) == []
    monkeypatch.chdir(desk)
    assert [(each.student, each.chapter) for each in collect(Path(), "02")] == [("ann", "02")]
    assert [(one.student, one.problem) for one in collect(tmp_path)] == [
        ("ann", "nothing on this desk that somebody worked in")
    ]


def test_of_a_desk_the_course_s_newer_version_counts_only_if_somebody_worked_in_it(tmp_path):
    desk = tmp_path / "ann"
    shutil.copytree(ROOT / "exercises", desk / "exercises")
    page = desk / "exercises" / "02_allreduce.ipynb"
    newer = page.with_name("02_allreduce.newer.ipynb")
    shutil.copy(page, newer)
    page.write_text(page.read_text().replace("raise NotImplementedError", "return tensor"))
    for chapter in ("", "02"):
        assert [one.path.name for one in collect(tmp_path, chapter)] == [page.name]
    newer.write_text(page.read_text())
    assert [one.path.name for one in collect(tmp_path)] == [page.name, newer.name]
    assert collect(tmp_path, "04")[0].path.name[:2] == "04"
