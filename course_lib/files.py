"""Atomic writes and file locks: files are whole or absent, whenever a process is killed or a disk is full."""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import time
from pathlib import Path

UNFINISHED = ".tmp"  # ends the name of what is being written; only a killed writer leaves one
_POLL_S = 0.02
_CANNOT_SYNC = (errno.EINVAL, errno.ENOTSUP)


def write_atomically(path: Path, content: bytes, temporary: Path | None = None, sync: bool = True) -> None:
    """Replace `path` with `content`: whenever process or machine stop, it holds all of the old or all of the new.

    Written beside it, since a rename is atomic only within a file system; on the disk before it is renamed, since a
    file system may store the name before the content; and the folder on the disk, since that is where the name is.
    Whoever writes at the same time writes elsewhere, and the last one to rename wins.

    Args:
        temporary: where to write first, in place of a new name beside `path`; nothing may be there.
        sync: False: whole when the process dies, but perhaps not when the power fails.

    Source: POSIX.1-2017, rename(); T. Pillai et al., "All file systems are not created equal", OSDI, 2014.
    """
    temporary = temporary or path.with_name(f"{path.name}.{secrets.token_hex(4)}{UNFINISHED}")
    try:
        with open(temporary, "xb") as file:
            file.write(content)
            file.flush()
            if sync:
                os.fsync(file.fileno())
        temporary.replace(path)
    except BaseException:
        with contextlib.suppress(OSError):
            temporary.unlink()  # the disk may be full of it
        raise
    if sync:
        sync_folder(path.parent)


def sync_folder(folder: Path) -> None:
    """Return when the names in the folder are on the disk; does nothing where a system cannot do that to a folder."""
    if not hasattr(os, "O_DIRECTORY"):
        return
    descriptor = os.open(folder, os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno not in _CANNOT_SYNC:
            raise
    finally:
        os.close(descriptor)


def lock(descriptor: int, wait_s: float) -> bool:
    """Whether this file or folder is locked for us within so many seconds; the system frees the lock with its owner.

    Where the system has no locks, as on some network drives, it always is.
    """
    end_s = time.monotonic() + wait_s
    while True:
        try:
            import fcntl  # there is none on Windows

            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > end_s:
                return False
            time.sleep(_POLL_S)
        except (ImportError, OSError):
            return True
        else:
            return True
