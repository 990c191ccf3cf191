"""A desk is laid and brought up to date, and nothing of the student's is lost, wherever that is cut off."""

import contextlib
import errno
import itertools
import json
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from course_lib.desk import DeskError, files, lay, outline, update
from course_lib.desk.versions import fingerprint, has_outputs

from .conftest import Course, notebook, sources

PAGE, TASKS = "notebooks/01_rings.ipynb", "exercises/01_rings.ipynb"
NEWER = "exercises/01_rings.newer.ipynb"
MINE = [("def ring(): return 'mine'", None)]


class Killed(BaseException):
    """Ends the program under test, as a signal would."""


class Watch:
    """From the `fatal`-th change of a file on, every one fails with `error`."""

    def __init__(self) -> None:
        self.folder, self.fatal, self.seen, self.error = "", None, 0, Killed()

    def __call__(self, event: str, args: tuple) -> None:
        if self.fatal is None or event not in ("open", "os.rename", "os.mkdir", "os.remove", "os.rmdir"):
            return
        if not str(args[0]).startswith(self.folder) or (event == "open" and not self._writes(args)):
            return
        self.seen += 1
        if self.seen >= self.fatal:
            raise self.error

    @staticmethod
    def _writes(args: tuple) -> bool:
        return bool(args[2] & (os.O_WRONLY | os.O_RDWR))


WATCH = Watch()
sys.addaudithook(WATCH)  # cannot be taken off, so there is one, which sleeps


@pytest.fixture
def watch(tmp_path: Path) -> Iterator[Watch]:
    WATCH.folder, WATCH.seen, WATCH.error = str(tmp_path), 0, Killed()
    yield WATCH
    WATCH.fatal = None


def changed(course: Course) -> None:
    """The course has other exercises and another page."""
    course.write(TASKS, ["# Exercises, better", ("def ring(): ...", None)])
    course.write(PAGE, ["# 01 · Rings, better", ("ring(2)", 4)])


def test_a_new_desk_has_every_file_and_no_outputs(course: Course) -> None:
    course.lay()
    desk = course.on_desk()
    pages = [TASKS, "notebooks/00_start.ipynb", PAGE, "notebooks/glossary.md"]
    assert sorted(desk) == ["AGENTS.md", "GEMINI.md", *pages]
    cells = [cell for name in desk if name.endswith(".ipynb") for cell in json.loads(desk[name])["cells"]]
    assert [cell["outputs"] for cell in cells if cell["cell_type"] == "code"] == [[], [], []]
    assert "Start page" not in (course.folder / PAGE).read_text()
    assert "[Start page](../START.md) · [Chapter 00]" in sources(desk[PAGE])[0]


def test_a_second_time_nothing_is_written_and_nothing_said(course: Course, watch: Watch) -> None:
    course.lay()
    watch.fatal = 10**9
    assert course.lay() == []
    assert watch.seen == 1  # the lock


def test_what_is_untouched_is_brought_up_to_date(course: Course) -> None:
    course.lay()
    changed(course)
    (course.folder / "notebooks/glossary.md").write_text("rank: a process\n")
    assert course.lay() == [f"brought up to date: {name}" for name in (PAGE, "notebooks/glossary.md", TASKS)]
    assert sources(course.on_desk()[PAGE])[1] == "ring(2)"
    assert course.on_desk()["notebooks/glossary.md"] == "rank: a process\n"


def test_what_the_student_wrote_stays_and_the_newer_version_lies_beside_it_once(course: Course) -> None:
    course.lay()
    (course.desk / TASKS).write_text(notebook(MINE))
    assert course.lay() == []
    changed(course)
    words = f"{TASKS} is yours and stays; the course's newer version lies beside it: {NEWER}"
    assert words in course.lay()
    assert course.lay() == []
    assert sources(course.on_desk()[TASKS]) == [MINE[0][0]]
    assert "better" in sources(course.on_desk()[NEWER])[0]
    (course.desk / NEWER).unlink()  # they have read it
    assert course.lay() == []


def test_a_still_newer_version_replaces_the_one_beside_unless_that_was_changed_too(course: Course) -> None:
    course.lay()
    (course.desk / TASKS).write_text(notebook(MINE))
    for number in range(3):
        course.write(TASKS, [f"# Exercises {number}"])
        course.lay()
        if number == 1:
            (course.desk / NEWER).write_text(notebook([("mine too", None)]))
    desk = course.on_desk()
    assert [sources(desk[name])[0] for name in (TASKS, NEWER)] == [MINE[0][0], "mine too"]
    assert sources(desk["exercises/01_rings.newer-2.ipynb"])[0].startswith("# Exercises 2")


def test_a_page_that_was_only_run_is_the_students_and_no_newer_version_comes_for_that(course: Course) -> None:
    course.lay()
    page = json.loads((course.desk / PAGE).read_text())
    page["cells"][1] |= {"outputs": [{"output_type": "stream", "name": "stdout", "text": "9"}], "execution_count": 7}
    (course.desk / PAGE).write_text(json.dumps(page))
    course.write(PAGE, [sources((course.folder / PAGE).read_text())[0], ("ring()", "another output")])
    assert course.lay() == []
    changed(course)
    assert any(sentence.startswith(f"{PAGE} is yours") for sentence in course.lay())
    assert json.loads(course.on_desk()[PAGE]) == page


def test_a_page_that_was_only_opened_and_saved_counts_as_untouched(course: Course) -> None:
    course.lay()
    page = json.loads((course.desk / PAGE).read_text())
    page["metadata"]["language_info"] = {"version": "3.11.2"}
    (course.desk / PAGE).write_text(json.dumps(page, indent=4))
    changed(course)
    assert f"brought up to date: {PAGE}" in course.lay()


def test_a_file_that_was_removed_is_laid_again(course: Course) -> None:
    course.lay()
    (course.desk / PAGE).rename(course.desk / "notebooks/mine.ipynb")
    assert course.lay() == [f"{PAGE} was gone and lies there again"]
    assert "notebooks/mine.ipynb" in course.on_desk()


def test_work_that_began_in_the_clone_comes_along_with_its_outputs_and_is_the_students(course: Course) -> None:
    course.write(TASKS, ["# Exercises", ("def ring(): return 'mine'", "right")])
    course.lay()
    assert "right" in course.on_desk()[TASKS]
    course.write(TASKS, ["# Exercises", ("def ring(): ...", None)])  # git checkout
    (course.desk / TASKS).write_text(course.on_desk()[TASKS].replace("right", ""))
    course.lay()
    assert "mine" in course.on_desk()[TASKS]


def test_work_that_began_in_the_clone_stays_wherever_its_first_desk_was_cut_off(course: Course, watch: Watch) -> None:
    laid = 0
    for fatal in itertools.count(1):
        shutil.rmtree(course.desk, ignore_errors=True)
        course.write(TASKS, ["# Exercises", ("def ring(): return 'mine'", "right")])
        watch.seen, watch.fatal = 0, fatal
        with contextlib.suppress(Killed):
            course.lay()
        watch.fatal = None
        if watch.seen < fatal:
            break
        course.write(TASKS, ["# Exercises", ("def ring(): ...", None)])  # git checkout
        if TASKS in course.on_desk():
            laid += 1
            (course.desk / TASKS).write_text(notebook(["# Exercises", ("def ring(): return 'mine'", None)]))
            course.lay()
            assert "mine" in course.on_desk()[TASKS]
    assert laid > 2


@pytest.mark.parametrize("name", [TASKS, "notebooks/glossary.md"])
def test_what_cannot_be_read_is_the_students(course: Course, name: str) -> None:
    course.lay()
    (course.desk / name).write_bytes(b"\xff not a notebook")
    changed(course)
    (course.folder / "notebooks/glossary.md").write_text("other")
    course.lay()
    assert (course.desk / name).read_bytes() == b"\xff not a notebook"


def test_a_link_is_the_students(course: Course, tmp_path: Path) -> None:
    course.lay()
    elsewhere = tmp_path / "elsewhere.ipynb"
    (course.desk / TASKS).rename(elsewhere)
    (course.desk / TASKS).symlink_to(elsewhere)
    before = elsewhere.read_text()
    changed(course)
    course.lay()
    assert (course.desk / TASKS).is_symlink()
    assert elsewhere.read_text() == before


@pytest.mark.parametrize("broken", ["{", "[" * 100_000])
def test_without_its_manifest_a_desk_loses_nothing(course: Course, broken: str) -> None:
    course.lay()
    (course.desk / TASKS).write_text(notebook(MINE))
    (course.desk / ".desk/manifest.json").write_text(broken)
    assert [sentence.split()[0] for sentence in course.lay()] == [TASKS]
    assert sources(course.on_desk()[TASKS]) == [MINE[0][0]]


def states(course: Course) -> dict[str, str]:
    """What the authors of all files on the desk wrote."""
    return {name: fingerprint(name, text) for name, text in course.on_desk().items()}


@pytest.mark.parametrize("after", ["a first desk", "an update"])
def test_killed_at_any_change_of_a_file_the_desk_is_whole_the_next_time(
    course: Course, watch: Watch, after: str
) -> None:
    """The next call ends as if nothing had happened; meanwhile each file is an old or a new one, never half of one."""

    def begin() -> None:
        shutil.rmtree(course.desk, ignore_errors=True)
        course.__init__(course.folder.parent)
        if after == "an update":
            course.lay()
            (course.desk / TASKS).write_text(notebook(MINE))
            changed(course)

    begin()
    before = states(course)
    course.lay()
    whole, killed = states(course), 0
    for fatal in itertools.count(1):
        begin()
        watch.seen, watch.fatal = 0, fatal
        try:
            course.lay()
        except Killed:
            killed += 1
        finally:
            watch.fatal = None
        assert all(state in (before.get(name), whole.get(name)) for name, state in states(course).items())
        if watch.seen < fatal:
            break
        course.lay()
        assert states(course) == whole
        assert not list((course.desk / ".desk").glob("*.part"))
        assert course.lay() == []
    assert killed > 10


def test_killed_between_two_updates_an_untouched_file_stays_untouched(course: Course, watch: Watch) -> None:
    course.lay()
    changed(course)
    for fatal in range(2, 12):
        course.write(PAGE, [f"# 01 · Rings {fatal}"])
        watch.seen, watch.fatal = 0, fatal
        with pytest.raises(Killed):
            course.lay()
        watch.fatal = None
    course.lay()
    assert [name for name in course.on_desk() if "newer" in name] == []


def test_a_full_disk_is_an_error_and_everything_is_still_there(course: Course, watch: Watch) -> None:
    course.lay()
    (course.desk / TASKS).write_text(notebook(MINE))
    before = states(course)
    changed(course)
    watch.error, watch.fatal = OSError(errno.ENOSPC, "No space left on device"), 2
    with pytest.raises(OSError, match="No space left"):
        course.lay()
    watch.fatal = None
    assert states(course) == before


@pytest.mark.parametrize("blocked", ["notebooks", ".desk", ""])
def test_a_file_where_a_folder_should_be_is_named(course: Course, blocked: str) -> None:
    if blocked:
        (course.desk / ".desk").mkdir(parents=True)
    path = course.desk / blocked
    shutil.rmtree(path, ignore_errors=True)
    path.write_text("mine")
    with pytest.raises(DeskError, match=f"{path} is (a file where a folder should be|not empty, and no desk)"):
        course.lay()
    assert path.read_text() == "mine"


def test_a_folder_that_is_no_desk_is_refused_and_so_is_the_course(course: Course, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    (tmp_path / "other/thesis.tex").write_text("mine")
    for folder in (tmp_path / "other", course.folder):
        with pytest.raises(DeskError, match="not empty, and no desk: name a new folder"):
            lay(folder, course.folder)
    assert [path.name for path in (tmp_path / "other").iterdir()] == ["thesis.tex"]


def test_two_at_once_wait_for_each_other(course: Course) -> None:
    course.lay()
    changed(course)
    said: list[list[str]] = []
    threads = [threading.Thread(target=lambda: said.append(course.lay())) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(map(len, said)) == [0, 0, 0, 2]


def test_what_is_saved_while_the_desk_is_laid_stays(course: Course, monkeypatch: pytest.MonkeyPatch) -> None:
    course.lay()
    changed(course)
    write = update.write_whole

    def write_while_somebody_saves(desk: Path, path: Path, text: str) -> None:
        write(desk, path, text)
        (course.desk / TASKS).write_text(notebook(MINE))

    with monkeypatch.context() as patched:
        patched.setattr(update, "write_whole", write_while_somebody_saves)
        course.lay()
    assert sources(course.on_desk()[TASKS]) == [MINE[0][0]]
    assert NEWER in course.lay()[0]


@pytest.mark.parametrize("text", ["<<<<<<< HEAD\n{}", "{}", '{"cells": []}'])
def test_a_page_of_the_course_that_is_no_notebook_is_named(course: Course, text: str) -> None:
    (course.folder / PAGE).write_text(text)
    for use in (course.lay, lambda: outline(course.folder)):
        with pytest.raises(DeskError, match=r"01_rings.ipynb cannot be read as a notebook .*git status"):
            use()


def test_who_waits_too_long_is_told_why(course: Course, monkeypatch: pytest.MonkeyPatch) -> None:
    course.lay()
    monkeypatch.setattr(files, "WAIT_S", 0.1)
    with files.locked(course.desk), pytest.raises(DeskError, match="another program has been changing"):
        course.lay()


def test_the_command_makes_a_desk_of_the_real_course_from_anywhere(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "course_lib", "desk", "my desk"]
    first, second = (subprocess.run(command, cwd=tmp_path, capture_output=True, text=True) for _ in range(2))
    assert (first.returncode, first.stderr) == (0, "")
    assert first.stdout == second.stdout == f"The desk is {tmp_path / 'my desk'}; its start page is START.md.\n"
    pages = list((tmp_path / "my desk").glob("*/[0-9]*.ipynb"))
    assert len(pages) > 20
    assert [page.name for page in pages if has_outputs(page.name, page.read_text())] == []
    (tmp_path / "my desk/.desk/lock").unlink()
    (tmp_path / "my desk/.desk/lock").mkdir()
    third = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert third.returncode == 1
    assert third.stderr.startswith("Error: my desk/.desk/lock: Is a directory. What is on the desk is whole")
