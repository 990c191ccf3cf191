"""The temporary folder of a run; a later process removes (sweeps) the stale folders of processes that were killed."""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
import tempfile
import time
import weakref
from pathlib import Path

from course_lib.comm.errors import TransportError

_CAN_LOCK = sys.platform != "win32"
_LOCK = "lock"
_UNLOCKED_S = 600.0  # a folder without a lock is just being made, unless it is older than this
_GONE = ".gone"  # the end of the name of a folder that is being removed
_swept: set[str] = set()


class RunFolder:
    """A new temporary folder. Its owner holds a lock in it while it lives; what has none is swept by a later process.

    It goes with `remove()`, with its last reference, or at the end of the process that made it.

    Args:
        prefix: what the names of such folders begin with.
    """

    def __init__(self, prefix: str) -> None:
        folder = tempfile.gettempdir()
        try:
            os.makedirs(folder, exist_ok=True)  # somebody may have removed it under a kernel that lives for weeks
            if prefix not in _swept:
                _swept.add(prefix)
                sweep(prefix)
            self.path = Path(tempfile.mkdtemp(prefix=prefix))
            self._lock = _take_lock(self.path)
        except OSError as error:
            raise TransportError(f"no folder can be made in {folder}, the one for temporary files: {error}") from error
        self._end = weakref.finalize(self, _give_up, self.path, self._lock, os.getpid())

    def remove(self) -> None:
        """Remove the folder with all that is in it."""
        self._end()

    def make_file(self, name: str, size: int) -> Path:
        """A file of `size` zero bytes that really has its room: memory mapped to a file without room kills its reader.

        Raises:
            TransportError: if there is too little room.
        """
        path = self.path / name
        try:
            with path.open("wb") as file:
                if hasattr(os, "posix_fallocate"):
                    os.posix_fallocate(file.fileno(), 0, size)
                else:
                    file.write(bytes(size))
        except OSError as error:
            raise TransportError(
                f"the folder for temporary files, {self.path.parent}, has no room for {size / 1e6:.1f} MB "
                f"({error.strerror}): make room there, or set TMPDIR to another folder"
            ) from error
        return path


def remove(folder: Path) -> None:
    """Remove a folder in one step: it has another name before anything in it goes, so nobody finds half of it."""
    gone = folder.with_name(folder.name + _GONE)
    with contextlib.suppress(OSError):  # another one of its processes was first
        folder.rename(gone)
    shutil.rmtree(gone, ignore_errors=True)


def sweep(prefix: str) -> None:
    """Remove the folders that processes which were killed have left behind."""
    if not _CAN_LOCK:
        return
    for folder in Path(tempfile.gettempdir()).glob(f"{prefix}*"):
        with contextlib.suppress(OSError):
            if folder.name.endswith(_GONE):
                shutil.rmtree(folder, ignore_errors=True)
            elif _is_stale(folder):
                remove(folder)


def _is_stale(folder: Path) -> bool:
    """True if the process that made this folder is gone.

    Raises:
        OSError: if it is somebody else's, or is locked.
    """
    if not (folder / _LOCK).exists():
        return time.time() - folder.stat().st_mtime > _UNLOCKED_S
    with (folder / _LOCK).open("r+b") as lock:
        _lock(lock.fileno(), wait=False)
    return True


def _give_up(folder: Path, lock: int | None, owner: int) -> None:
    """Remove a folder unless this is a copy of the process that made it, as `os.fork` makes one."""
    if os.getpid() != owner:
        return
    remove(folder)
    if lock is not None:
        os.close(lock)


def _take_lock(folder: Path) -> int | None:
    """Put a lock into the folder, taken before it is there under its name."""
    if not _CAN_LOCK:
        return None
    number = os.open(folder / "new", os.O_CREAT | os.O_RDWR, 0o600)
    _lock(number, wait=True)
    os.rename(folder / "new", folder / _LOCK)
    return number


def _lock(number: int, wait: bool) -> None:
    import fcntl  # there is none on Windows

    fcntl.flock(number, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
