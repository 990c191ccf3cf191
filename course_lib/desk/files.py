"""Files of a desk: written whole or not at all (atomic), behind a lock, and read in any encoding an editor wrote.

Whatever ends a program, a file holds what was there before or what is new.
"""

from __future__ import annotations

import codecs
import contextlib
import re
import secrets
from collections.abc import Iterator
from pathlib import Path

from course_lib.files import lock, write_atomically

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


MARKS = (  # the longer ones first: UTF-32's mark begins with UTF-16's
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
SAMPLE = 4096
CONTROL = re.compile(r"[\x01-\x06\x0e-\x1a\x1c-\x1f\x7f\ufffd]")  # in no text; bells, tabs and colors are
MOST_CONTROL = 0.05
MOST_LETTERS = 0.7


class NoText(ValueError):
    """These bytes are no text; says so."""


def text_of(data: bytes, begins: bytes = b"") -> str:
    r"""The text that these bytes are: UTF-8, UTF-16 or UTF-32, with a mark or without, else Windows' Latin letters.

    Args:
        begins: the first bytes of the file, if `data` is only its end: there stands its mark.

    Raises:
        NoText: if they are something else, such as an archive.

    >>> text_of("Zoë".encode("utf-16")), text_of(b"Zo\xeb"), text_of("Zoë".encode("utf-8-sig"))
    ('Zoë', 'Zoë', 'Zoë')
    """
    text = _decoded(data, _encoding(begins or data, data)).replace("\0", "").removeprefix("\ufeff")
    if len(CONTROL.findall(text)) > MOST_CONTROL * len(text):
        raise NoText("this is no text, as an archive or a picture is none")
    return text


def _encoding(begins: bytes, data: bytes) -> str:
    """What the mark says; without one, what zero bytes tell: every second one is, where Latin letters have two."""
    for mark, encoding in MARKS:
        if begins.startswith(mark):
            return encoding
    sample = data[:SAMPLE]
    even, odd = sample[::2].count(0), sample[1::2].count(0)
    if max(even, odd) > MOST_LETTERS * len(sample) / 2 and min(even, odd) < len(sample) / 16:
        return "utf-16-be" if even > odd else "utf-16-le"
    return "utf-8"


def _decoded(data: bytes, encoding: str) -> str:
    if encoding != "utf-8":
        return data.decode(encoding, "replace")
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        if not data[: error.start].isascii():  # letters of UTF-8 came before: one is odd, or cut in two
            return data.decode(errors="replace")
        return data.decode("cp1252", "replace")
