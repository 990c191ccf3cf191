"""Files that students handed in, found and read without trust: what is no plain file of a reasonable size is named."""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

__all__ = ["MAX_BYTES", "Found", "Unreadable", "find", "plain", "read", "without"]

MAX_BYTES = 64 << 20  # of a file, its pictures included


class Unreadable(ValueError):
    """This file cannot be graded; says why."""


@dataclass(frozen=True)
class Found:
    """A file that was handed in: by whom, and why it cannot be read, if that is known."""

    student: str
    path: Path
    problem: str = ""


def plain(text: str) -> str:
    """A name as one may print it: what is no printable character stands there as its code.

    >>> plain("ann\\x1b[2J"), plain("b\\udcffa")
    ('ann\\\\x1b[2J', 'b\\\\xffa')
    """
    readable = text.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in readable)


def find(path: Path) -> list[Found]:
    """The notebooks at `path`: the one that it is, or those of a folder, `NAME.ipynb` and `NAME/*.ipynb`, in order.

    Of a folder NAME that is a whole desk, and of `path` if it is one, the `exercises/*.ipynb`.
    """
    if not path.is_dir():
        return [Found(plain(path.stem), path.resolve() if path.is_symlink() else path)]
    if _is_desk(path):
        return sorted(_of_folder(path.resolve()), key=lambda one: one.path)
    found = [Found(plain(each.stem), each) for each in _entries(path) if each.suffix == ".ipynb"]
    for folder in _entries(path):
        if folder.is_dir() and folder.suffix != ".ipynb":
            found += _of_folder(folder)
    return sorted(found, key=lambda one: os.fsencode(one.path))


def without(path: Path, students: Iterable[str]) -> list[str]:
    """The folders NAME of a class, if `path` is one, that are none of these students'."""
    if not path.is_dir() or _is_desk(path):
        return []
    folders = (each for each in _entries(path) if each.is_dir() and each.suffix != ".ipynb")
    return sorted({plain(each.name) for each in folders} - set(students))


def _is_desk(path: Path) -> bool:
    return all((path / name).is_dir() for name in ("exercises", "notebooks"))


def _of_folder(folder: Path) -> Iterator[Found]:
    student = plain(folder.name)
    if folder.is_symlink():
        yield Found(student, folder, "a link to another folder: hand in the files themselves")
        return
    try:
        exercises = folder / "exercises"
        is_desk = exercises.is_dir() and not exercises.is_symlink()
        those = _entries(exercises if is_desk else folder)
        yield from (Found(student, each) for each in those if each.suffix == ".ipynb")
    except OSError as error:
        yield Found(student, folder, f"this folder cannot be read: {error.strerror}")


def _entries(folder: Path) -> list[Path]:
    return [each for each in folder.iterdir() if not each.name.startswith(".")]


def read(path: Path) -> tuple[bytes, str]:
    """A file's bytes and their fingerprint, both of what is graded, whatever happens to the file meanwhile.

    Raises:
        Unreadable: if it is a link, no plain file, empty, or too large.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
        with open(descriptor, "rb") as file:
            status = os.fstat(descriptor)
            if not stat.S_ISREG(status.st_mode):
                raise Unreadable("not a file")
            if status.st_size > MAX_BYTES:
                raise Unreadable(f"larger than {MAX_BYTES >> 20} MiB: clear the outputs and hand it in again")
            data = file.read(MAX_BYTES)
    except OSError as error:
        words = "a link to another file" if path.is_symlink() else f"it cannot be read: {error.strerror}"
        raise Unreadable("not a file" if path.is_dir() else words) from error
    if not data:
        raise Unreadable("an empty file")
    return data, hashlib.sha256(data).hexdigest()
