"""Tracebacks as a student wants them: their own lines, and the cells of a notebook by number."""

from __future__ import annotations

import traceback
from pathlib import Path
from types import TracebackType

from course_lib.comm.source_location import SourceLocation, belongs_to_program, notebook_cells

__all__ = ["explain", "text_of"]

_EXECUTORS = str(Path(__file__).parent)  # the files that call programs


def explain(error: BaseException) -> tuple[str, str]:
    """The program's own innermost line, and the traceback from the program on: the executor's frames are left out."""
    lines = error.__traceback__
    while lines is not None and lines.tb_frame.f_code.co_filename.startswith(_EXECUTORS):
        lines = lines.tb_next
    location, frame = "", lines
    while frame is not None:
        if belongs_to_program(frame.tb_frame.f_code.co_filename):
            location = str(SourceLocation((frame.tb_frame.f_code, frame.tb_lasti)))
        frame = frame.tb_next
    return location, _details(error, lines)


def text_of(error: BaseException) -> str:
    """What an exception says; an exception may fail even at that.

    >>> text_of(ValueError("too large"))
    'too large'
    """
    try:
        return str(error)
    except BaseException as inner:
        return f"(its text cannot be had: __str__ raised {type(inner).__name__})"


def _details(error: BaseException, lines: TracebackType | None) -> str:
    text = "".join(traceback.format_exception(type(error), error, lines))
    for file, number in notebook_cells().items():
        text = text.replace(f'File "{file}", line', f"Cell [{number}], line")
    return text
