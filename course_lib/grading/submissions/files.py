"""Files that students handed in, found and read without trust; and what names of files and folders say, such as whose.

What is no plain file of a reasonable size is not read: it is named, with the reason.
"""

from __future__ import annotations

import hashlib
import os
import re
import stat
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from course_lib.desk.files import DeskError, course_folder

NOBODY = "(whose?)"  # in the place of a student's name
ENDINGS = (
    "ipynb json zip tar gz tgz bz2 xz 7z rar py txt md html htm pdf doc docx odt rtf pages csv xlsx png jpg jpeg "
    "bak old orig part crdownload download"
)
ENDED = re.compile(rf"(?:\.(?:{'|'.join(ENDINGS.split())}))+[~ ]*$", re.IGNORECASE)
NOTEBOOK = re.compile(r"\.ipynb\s*$", re.IGNORECASE)
# What systems, editors and tools leave in any folder.
SILENT = re.compile(
    r"\.(_|DS_Store|AppleD|Trash|Spotlight|fseventsd|TemporaryItems|DocumentRev|apdisk|localized|directory|~lock|nfs"
    r"|fuse_|git|hg$|svn|ipynb_checkpoints|ipython|jupyter|virtual_doc|venv|vscode|idea|.*cache|desk$|dropbox|sync"
    r"|st(folder|ignore))|__MACOSX$|__pycache__$|(eh)?thumbs.*\.db$|desktop\.ini$|\$RECYCLE|System Volume|lost\+found$"
    r"|@eaDir$|Icon\r$|~\$",
    re.IGNORECASE,
)
COPIES = ["copy", "kopie", "kopia", "copie", "copia", "копия", "копія", "副本", "コピー", "final", "newer"]
AGAIN = rf"(?:[ _-]*\(\d++\)|[ _-]+(?:{'|'.join(COPIES)})[ _-]*\(?\d*\)?|[.-]newer(?:-\d+)?|-checkpoint)"
BEFORE = r"^(?:copy of|kopie von)\s+"
SURE = re.compile(rf"{BEFORE}|{AGAIN}+$", re.IGNORECASE)
PERHAPS = re.compile(
    rf"{BEFORE}|(?:{AGAIN}|[ _.-]*v?\d++|[ _.-]+(?:new|neu|old|done|solutions?|answers?|fixed))+$", re.IGNORECASE
)


def plain(text: str) -> str:
    """A name as it is shown, kept and compared: in Unicode's composed form; what cannot be printed as its code.

    >>> plain("ann\\x1b[2J"), plain("b\\udcffa"), plain("Zoe\\u0308")
    ('ann\\\\x1b[2J', 'b\\\\xffa', 'Zoë')
    """
    readable = text.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
    composed = unicodedata.normalize("NFC", readable)
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in composed)


def student_named(text: str) -> str:
    """The student of this name, whatever stands around it, and however wide the spaces in it are.

    >>> student_named(" Zoe\\u0308\\u00a0 Fox ")
    'Zoë Fox'
    """
    return plain(" ".join(text.split()) or text)


def stem(name: str) -> str:
    """A file's name without its endings, of which it may have several.

    >>> stem("bea.tar.gz"), stem("bea.ipynb.txt"), stem("b.e.ipynb"), stem("bea")
    ('bea', 'bea', 'b.e', 'bea')
    """
    return ENDED.sub("", name) or name


def is_notebook(name: str) -> bool:
    """Whether a file of this name is taken for a notebook; a hidden one is not."""
    return bool(NOTEBOOK.search(name)) and not name.startswith(".")


def is_silent(name: str) -> bool:
    """Whether nobody handed this in: systems and tools leave it in any folder."""
    return bool(SILENT.match(name))


def copy_of(student: str, students: Iterable[str]) -> tuple[str, bool]:
    """The one of these students whose copy this name is, as browsers and people name copies, and whether that is sure.

    >>> copy_of("ann (1)", ["ann"]), copy_of("ann-1", ["ann"]), copy_of("ann (1)", [])
    (('ann', True), ('ann', False), ('', False))
    """
    those = [each for each in students if each != student]
    known = {each.casefold(): each for each in those} | {each: each for each in those}
    for pattern, sure in ((SURE, True), (PERHAPS, False)):
        base = pattern.sub("", student)
        if base.casefold() != student.casefold() and (found := known.get(base) or known.get(base.casefold())):
            return found, sure
    return "", False


@cache
def _pages(folder: str = "exercises") -> frozenset[str]:
    try:
        return frozenset(path.stem.casefold() for path in (course_folder() / folder).glob("*.ipynb"))
    except DeskError:
        return frozenset()


def is_own(name: str) -> bool:
    """Whether a file of this name among the lectures of a desk is a student's own notebook, and not a page.

    >>> is_own("mine.ipynb"), is_own("02_allreduce.newer.ipynb"), is_own("picture.png")
    (True, False, False)
    """
    return is_notebook(name) and PERHAPS.sub("", stem(name)).casefold() not in _pages("notebooks")


def page_of(name: str) -> str:
    """The exercises' page that a file of this name was copied from, if it bears no name of its own; else nothing.

    >>> page_of("12_failures-1.ipynb"), page_of("12_Failures (2).ipynb"), page_of("12_failures_ann.ipynb")
    ('12_failures', '12_failures', '')
    """
    base = PERHAPS.sub("", stem(name).strip()).casefold()
    return base if base in _pages() else ""


MAX_BYTES = 64 << 20  # of a file, its pictures included
MAX_NAMED = 5
ARCHIVES = (".zip", ".tar", ".gz", ".tgz", ".bz2", ".xz", ".7z", ".rar")
MAYBE_NOTEBOOK = ("", ".json", ".txt", ".bak", ".old", ".orig", ".part", ".download", ".crdownload")
OF_A_DESK = re.compile(r"exercises|notebooks|(START(\.yours(-\d+)?)?|(AGENTS|GEMINI)(\.newer(-\d+)?)?)\.md")
LECTURER_S = ("class.key", "grades.csv", "grades.json", "ids.csv")
WRITTEN = {"grades.csv", "grades.json", "reports", "class.html", "platform.csv", "students", "gradebook.db"}


class Unreadable(ValueError):
    """This file cannot be graded; says why."""


@dataclass(frozen=True)
class Found:
    """What lies in a class's folder: whose it is, why it cannot be graded, if that is known.

    Attributes:
        aside: whether it only lies beside notebooks of this student.
    """

    student: str
    path: Path
    problem: str = ""
    aside: bool = False


def find(path: Path) -> list[Found]:
    """The notebooks at `path`: the one that it is, or those of a folder, `NAME.ipynb` and `NAME/*.ipynb`, in order.

    Of a folder NAME that is a whole desk, and of `path` if it is one, the `exercises/*.ipynb`. Whatever else lies there
    is found as well, with what is wrong with it.
    """
    return [one for one in _all_of(path) if not one.aside]


def not_graded(path: Path) -> list[Found]:
    """What lies beside notebooks in a student's folder, or beside their notebook, and is not graded."""
    return [one for one in _all_of(path) if one.aside]


def is_class(path: Path) -> bool:
    """Whether this is a folder of students' files, and not one student's."""
    return path.is_dir() and not _is_desk(path) and not _is_one_student_s(_entries(path))


def _all_of(path: Path) -> list[Found]:
    if not path.is_dir():
        return [Found(student_named(path.stem), path.resolve() if path.is_symlink() else path)]
    if not is_class(path):
        return sorted(_of_folder(path.resolve()), key=lambda one: os.fsencode(one.path))
    found = [one for entry in _entries(path) for one in _of_entry(entry)]
    students = {one.student for one in found if not one.problem}
    together = []
    for one in found:
        student, sure = copy_of(one.student, students)
        one = replace(one, student=student if sure else one.student)
        is_left = one.problem and one.path.parent == path and not is_notebook(one.path.name)
        together.append(replace(one, aside=True) if is_left and one.student in students else one)
    return sorted(together, key=lambda one: os.fsencode(one.path))


def _of_entry(entry: Path) -> Iterator[Found]:
    """What one thing in a class's folder holds."""
    student = student_named(stem(entry.name))
    if entry.name.startswith("."):
        yield Found(student, entry, "hidden, since its name begins with a dot", aside=True)
    elif entry.is_dir():
        yield from _of_folder(entry)
    elif not is_notebook(entry.name):
        yield Found(student, entry, _no_notebook(entry, student))
    elif page_of(entry.name):
        yield Found(NOBODY, entry, "it is named after a page, not a student: put it into the folder of whose it is")
    else:
        yield Found(student, entry)


def _is_desk(path: Path) -> bool:
    return all((path / name).is_dir() for name in ("exercises", "notebooks"))


def _is_one_student_s(entries: list[Path]) -> bool:
    """Whether all notebooks here are pages of the course, each once: so a student has them, and no class."""
    pages = [page_of(each.name) for each in entries if is_notebook(each.name)]
    return all(pages) and len(set(pages)) == len(pages) > 0 and not any(each.is_dir() for each in entries)


def _of_folder(folder: Path) -> Iterator[Found]:
    """What a student's folder holds; nothing of a desk's own pages."""
    student = student_named(stem(folder.name) if is_notebook(folder.name) else folder.name)  # ann.ipynb.zip unpacked
    if folder.is_symlink():
        yield Found(student, folder, "a link to another folder: hand in the files themselves")
        return
    try:
        exercises = folder / "exercises"
        is_desk = exercises.is_dir() and not exercises.is_symlink()
        inner = _entries(exercises) if is_desk else []
        lectures = folder / "notebooks"
        own = _entries(lectures) if is_desk and lectures.is_dir() and not lectures.is_symlink() else []
        outer = [each for each in _entries(folder) if not (is_desk and OF_A_DESK.fullmatch(each.name))]
    except OSError as error:
        yield Found(student, folder, f"this folder cannot be read: {error.strerror}")
        return
    notebooks = [each for each in inner if is_notebook(each.name)] or [e for e in outer if is_notebook(e.name)]
    others = [each for each in [*inner, *outer] if each not in notebooks] + [e for e in own if is_own(e.name)]
    yield from (Found(student, each) for each in notebooks)
    if notebooks:
        yield from (Found(student, each, "no notebook that is graded", aside=True) for each in others)
    else:
        yield Found(student, folder, _nothing_in(others))


def _nothing_in(others: list[Path]) -> str:
    names = [plain(each.name) + "/" * each.is_dir() for each in others]
    more = f" and {len(names) - MAX_NAMED} more" if len(names) > MAX_NAMED else ""
    found = f", but {', '.join(names[:MAX_NAMED])}{more}" if names else ""
    return f"no notebook lies in this folder or in its exercises/{found}"


def _no_notebook(path: Path, student: str) -> str:
    """Why this file is not graded, and what would be."""
    if path.is_symlink():
        return "a link to another file"
    if not path.is_file():
        return "not a file"
    if path.suffix.lower() in ARCHIVES:
        return f"an archive: unpack it into the folder {student}/"
    if path.suffix.strip().lower() in MAYBE_NOTEBOOK:
        return f"its name does not end in .ipynb: if it is a notebook, name it {student}.ipynb"
    return "no notebook: what is graded ends in .ipynb"


def _entries(folder: Path) -> list[Path]:
    """What people put there: nothing of systems and tools, nor what the course writes and reads for the lecturer."""
    found = (each for each in folder.iterdir() if not is_silent(each.name))
    return sorted(each for each in found if not _of_the_lecturer(each))


def _of_the_lecturer(path: Path) -> bool:
    """A file that docs/teaching.md names, or a folder with nothing but what grading and reports write."""
    if path.name in LECTURER_S or not path.is_dir() or path.is_symlink():
        return path.name in LECTURER_S
    try:
        inner = {each.name for each in path.iterdir()}
    except OSError:
        return False
    return inner <= WRITTEN and bool(inner & {"grades.json", "class.html"})


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
    if not data.strip():
        raise Unreadable("an empty file")
    return data, hashlib.sha256(data).hexdigest()
