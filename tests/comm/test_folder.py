"""A run's folder: nobody's is left for ever, and what is mapped from it has its room."""

import errno
import os
import tempfile
import time

import pytest

from course_lib import TransportError, run
from course_lib.comm.processes import folder
from course_lib.comm.processes.folder import RunFolder, remove, sweep


@pytest.fixture(autouse=True)
def temporary(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(folder, "_swept", set())
    return tmp_path


def test_a_folder_is_swept_once_its_owner_is_gone():
    lives, died = RunFolder("course-run-"), RunFolder("course-run-")
    died._end.detach()
    os.close(died._lock)  # what the kernel does for a process that is killed
    sweep("course-run-")
    assert lives.path.exists()
    assert not died.path.exists()
    lives.remove()
    assert not lives.path.exists()


def test_a_folder_goes_with_its_last_reference_and_at_a_forks_end_it_stays():
    owned = RunFolder("course-run-")
    path = owned.path
    child = os.fork()
    if child == 0:
        owned.remove()
        os._exit(0)
    os.waitpid(child, 0)
    assert path.exists()
    del owned
    assert not path.exists()


def test_a_folder_that_is_being_removed_is_swept_at_once(temporary, monkeypatch):
    owned = RunFolder("course-run-")
    with monkeypatch.context() as patch:
        patch.setattr(folder.shutil, "rmtree", lambda *_, **__: None)  # killed before it has removed anything
        remove(owned.path)
    assert not owned.path.exists()
    (rest,) = temporary.iterdir()
    sweep("course-run-")
    assert not rest.exists()


def test_two_processes_may_remove_the_same_folder(temporary):
    owned = RunFolder("course-run-")
    for _ in range(2):
        remove(owned.path)
    assert list(temporary.iterdir()) == []


def test_the_first_folder_of_a_process_sweeps_those_of_its_own_kind(temporary):
    for name in ("course-run-a", "course-ps-b"):
        (temporary / name).mkdir()
        (temporary / name / "lock").touch()
    RunFolder("course-run-").remove()
    assert [path.name for path in temporary.iterdir()] == ["course-ps-b"]


def test_a_folder_that_is_just_being_made_stays(temporary):
    for name, age_s in {"new": 0, "old": 3600}.items():
        (temporary / f"course-run-{name}").mkdir()
        os.utime(temporary / f"course-run-{name}", (time.time() - age_s,) * 2)
    sweep("course-run-")
    assert [path.name for path in temporary.iterdir()] == ["course-run-new"]


def test_a_file_to_map_has_its_room():
    owned = RunFolder("course-run-")
    stat = owned.make_file("board", 100_000).stat()
    assert stat.st_size == 100_000
    assert stat.st_blocks * 512 >= 100_000


def test_too_little_room_is_said_and_leaves_nothing(temporary, monkeypatch):
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "posix_fallocate", full)
    with pytest.raises(TransportError, match=r"has no room for .* MB .No space left on device.*set TMPDIR"):
        run(lambda comm: None, 2)
    assert list(temporary.iterdir()) == []


def test_a_folder_for_temporary_files_that_was_removed_is_made_again(temporary):
    temporary.rmdir()
    assert run(lambda comm: comm.rank, 2).results == [0, 1]


def test_a_folder_for_temporary_files_that_cannot_be_written_is_named(temporary, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", "/proc")
    with pytest.raises(TransportError, match="no folder can be made in /proc, the one for temporary files"):
        run(lambda comm: None, 2)
