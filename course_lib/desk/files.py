"""Files that are whole at any time, and a lock: whatever ends a program, there is what was before or what is new."""

from __future__ import annotations

import contextlib
import secrets
from collections.abc import Iterator
from pathlib import Path

from course_lib.files import lock, write_atomically

__all__ = ["HIDDEN", "DeskError", "course_folder", "locked", "make_folder", "sweep", "write_whole"]

HIDDEN = ".desk"
PART = ".part"  # ends the name of what is being written
WAIT_S = 10.0


class DeskError(Exception):
    """This cannot be done on this desk; says why."""


def course_folder() -> Path:
    """The clone that this library stands in.

    Raises:
        DeskError: if the library was installed without the pages.
    """
    folder = Path(__file__).parents[2]
    if not (folder / "notebooks").is_dir():
        raise DeskError(f"the course's pages are not beside its library: {folder / 'notebooks'} is not there")
    return folder


def write_whole(desk: Path, path: Path, text: str) -> None:
    """Put a file with this text at `path`, in one step: it is first written to the end in the hidden folder."""
    make_folder(path.parent)
    part = desk / HIDDEN / (secrets.token_hex(8) + PART)
    write_atomically(path, text.encode(), temporary=part)


def make_folder(path: Path) -> None:
    """There is a folder at `path`.

    Raises:
        DeskError: if something else stands in its way.
    """
    try:
        path.mkdir(parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError) as error:
        blocking = next(each for each in (path, *path.parents) if each.exists() or each.is_symlink())
        raise DeskError(f"{blocking} is a file where a folder should be: move it away") from error


def sweep(desk: Path) -> None:
    """Remove what a program that was killed had not written to the end. The caller has the lock."""
    for part in (desk / HIDDEN).glob(f"*{PART}"):
        part.unlink(missing_ok=True)


@contextlib.contextmanager
def locked(desk: Path) -> Iterator[None]:
    """Nobody else changes the desk meanwhile. The system frees the lock when its owner ends, however it ends.

    Raises:
        DeskError: if another program holds it for ten seconds.
    """
    with (desk / HIDDEN / "lock").open("a") as file:
        if not lock(file.fileno(), WAIT_S):
            raise DeskError(f"another program has been changing {desk} for {WAIT_S:g} s: wait for it, or end it")
        yield
