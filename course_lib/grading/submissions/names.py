"""Names of files and folders: how they are shown, whose they are, and which are nobody's work."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from functools import cache

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
