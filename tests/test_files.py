"""Whenever a writer is killed, or the disk is full, a file is whole: the new one, or the one before."""

import contextlib
import errno
import os
import signal
import stat
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from course_lib import files
from course_lib.files import sync_folder, write_atomically

OLD, NEW = b"old" * 1000, b"new" * 3000


def killed_at_line(path: Path, line: int) -> bool:
    """Write in another process that is killed before the `line`-th line that it runs; False: it came through."""
    child = os.fork()
    if child == 0:
        left = [line]

        def watch(frame, event, _):
            if event == "line":  # of whatever is called, too: open, fsync, rename
                left[0] -= 1
                if left[0] == 0:
                    os.kill(os.getpid(), signal.SIGKILL)
            return watch

        with contextlib.suppress(BaseException):
            sys.settrace(watch)
            write_atomically(path, NEW)
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL


def found_after_each_kill(path: Path) -> list[str]:
    """What the file is when a writer was killed before its first line, its second, and so on; at last, not at all."""
    found, line = [], 1
    write_atomically(path, OLD)
    while killed_at_line(path, line):
        found.append(path.read_bytes())
        line += 1
    return [{OLD: "old", NEW: "new"}.get(content, "broken") for content in [*found, path.read_bytes()]]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_killed_at_any_line_of_a_write_the_file_is_the_old_or_the_new_one(tmp_path):
    # Some 90 forks: of a small process, not of one that holds all of PyTorch.
    found = subprocess.run(
        [sys.executable, __file__, tmp_path / "file"], capture_output=True, text=True, check=True
    ).stdout.split()
    assert set(found) == {"old", "new"}
    assert found.count("old") >= 4
    assert found.count("new") >= 3
    assert found == sorted(found, key=["old", "new"].index)  # once new, it stays new


@pytest.mark.parametrize("sync", [True, False])
def test_content_is_on_the_disk_before_its_name_and_the_name_before_the_return(tmp_path, monkeypatch, sync):
    said = []

    def fsync(descriptor):
        kind = "folder" if stat.S_ISDIR(os.fstat(descriptor).st_mode) else "content"
        said.append((kind, (tmp_path / "file").exists()))

    monkeypatch.setattr(files.os, "fsync", fsync)
    write_atomically(tmp_path / "file", NEW, sync=sync)
    assert said == [("content", False), ("folder", True)] * sync


@pytest.mark.parametrize("step", ["fsync", "replace"])
def test_a_write_that_fails_leaves_the_old_file_and_nothing_beside_it(tmp_path, monkeypatch, step):
    path = tmp_path / "file"
    write_atomically(path, OLD)

    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(files.os, step, full)
    with pytest.raises(OSError, match="No space left"):
        write_atomically(path, NEW)
    assert [each.read_bytes() for each in tmp_path.iterdir()] == [OLD]


def test_of_many_who_write_one_file_at_once_one_wins_and_none_fails(tmp_path):
    path = tmp_path / "file"
    contents = [bytes([number]) * 5000 for number in range(60)]
    with ThreadPoolExecutor(4) as threads:
        list(threads.map(lambda content: write_atomically(path, content, sync=False), contents))
    assert path.read_bytes() in contents
    assert list(tmp_path.iterdir()) == [path]


def test_a_link_is_replaced_and_what_it_leads_to_stays(tmp_path):
    (tmp_path / "mine").write_bytes(OLD)
    for name in ("file", "part"):
        (tmp_path / name).symlink_to(tmp_path / "mine")
    write_atomically(tmp_path / "file", NEW)
    with pytest.raises(FileExistsError):
        write_atomically(tmp_path / "file", NEW, temporary=tmp_path / "part")
    assert ((tmp_path / "mine").read_bytes(), (tmp_path / "file").read_bytes()) == (OLD, NEW)


def test_a_file_system_that_cannot_sync_folders_is_no_error_and_a_broken_disk_is(tmp_path, monkeypatch):
    number = errno.EINVAL

    def fsync(_):
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(files.os, "fsync", fsync)
    sync_folder(tmp_path)
    number = errno.EIO
    with pytest.raises(OSError, match="Input/output error"):
        sync_folder(tmp_path)


if __name__ == "__main__":
    print(*found_after_each_kill(Path(sys.argv[1])))
