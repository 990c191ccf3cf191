"""Tracebacks as a student wants them: their own lines, and the cells of a notebook by number."""

from __future__ import annotations

import re
import traceback
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any

from course_lib.comm.source_location import SourceLocation, belongs_to_program, notebook_cells

__all__ = ["cause_text", "explain", "is_of_the_call", "raised_in", "text_of"]

_OF_ANOTHER = "\n\nThe traceback of rank"  # in the text of an error of a run inside this one: ours names both places
_EXECUTORS = str(Path(__file__).parent)  # the files that call programs


def explain(error: BaseException) -> tuple[str, str]:
    """The program's own innermost line, and the traceback from the program on: the executor's frames are left out."""
    lines = _program_frames(error)
    if is_of_the_call(error):
        return "", ""
    location, frame = "", lines
    while frame is not None:
        if belongs_to_program(frame.tb_frame.f_code.co_filename):
            location = str(SourceLocation((frame.tb_frame.f_code, frame.tb_lasti)))
        frame = frame.tb_next
    return location, _details(error, lines)


def _program_frames(error: BaseException) -> TracebackType | None:
    lines = error.__traceback__
    while lines is not None and lines.tb_frame.f_code.co_filename.startswith(_EXECUTORS):
        lines = lines.tb_next
    return lines


def is_of_the_call(error: BaseException) -> bool:
    """True if a program could not even be called: its arguments do not fit."""
    return isinstance(error, TypeError) and error.__traceback__ is not None and _program_frames(error) is None


def cause_text(error: BaseException) -> str:
    """What an exception says, and how to give a program its arguments where that is what is wrong."""
    text = text_of(error)
    if not is_of_the_call(error):
        return text.split(_OF_ANOTHER)[0]
    missing = re.findall(r"'(\w+)'", text.partition("required positional argument")[2])
    if not missing:
        return f"{text}\n  It is called with comm, and then with what args=(...) and kwargs={{...}} give."
    rest = ", ".join(missing) + ("," if len(missing) == 1 else "")
    return f"{text}\n  It gets comm by itself, and the rest from args=({rest})."


def raised_in(error: BaseException, *functions: Callable[..., Any]) -> bool:
    """True if one of these functions itself has raised this exception."""
    lines = error.__traceback__
    while lines is not None and lines.tb_next is not None:
        lines = lines.tb_next
    return lines is not None and lines.tb_frame.f_code in [function.__code__ for function in functions]


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
