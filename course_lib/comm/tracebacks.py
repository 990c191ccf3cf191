"""Tracebacks as a student wants them: their own lines, and the cells of a notebook by number."""

from __future__ import annotations

import functools
import sysconfig
import traceback
from types import TracebackType

from course_lib.comm.source_location import SourceLocation, is_ours, notebook_cells

__all__ = ["belongs_to_program", "explain", "text_of"]

_STANDARD_LIBRARY = sysconfig.get_path("stdlib")


def explain(error: BaseException, entry: str, *more_entries: str) -> tuple[str, str]:
    """The program's own innermost line, and the traceback from the program on.

    Args:
        entry, more_entries: the files of ours that called the program; the frames before it are left out.
    """
    lines = error.__traceback__
    while lines is not None and lines.tb_frame.f_code.co_filename in (entry, *more_entries):
        lines = lines.tb_next
    location, frame = "", lines
    while frame is not None:
        if belongs_to_program(frame.tb_frame.f_code.co_filename):
            location = str(SourceLocation((frame.tb_frame.f_code, frame.tb_lasti)))
        frame = frame.tb_next
    return location, _details(error, lines)


def _details(error: BaseException, lines: TracebackType | None) -> str:
    text = "".join(traceback.format_exception(type(error), error, lines))
    for file, number in notebook_cells().items():
        text = text.replace(f'File "{file}", line', f"Cell [{number}], line")
    return text


@functools.cache
def belongs_to_program(file: str) -> bool:
    """True for a student's own file or cell: neither this library, nor an installed package, nor Python itself."""
    return not (is_ours(file) or "site-packages" in file or file.startswith((_STANDARD_LIBRARY, "<frozen")))


def text_of(error: BaseException) -> str:
    """What an exception says; an exception may fail even at that.

    >>> text_of(ValueError("too large"))
    'too large'
    """
    try:
        return str(error)
    except BaseException as inner:
        return f"(its text cannot be had: __str__ raised {type(inner).__name__})"
