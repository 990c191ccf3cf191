"""Source locations and tracebacks for a student: their own line, without our frames, and cells by their number."""

from __future__ import annotations

import functools
import linecache
import multiprocessing.process
import os
import re
import sys
import sysconfig
import threading
import traceback
import weakref
from collections.abc import Callable
from pathlib import Path
from types import CodeType, FrameType, TracebackType
from typing import Any

_LIBRARY = str(Path(__file__).parents[1]) + os.sep  # code below this folder is ours, not the student's
_STANDARD_LIBRARY = sysconfig.get_path("stdlib")
_OUTERMOST = multiprocessing.process.__file__  # what has called the first function of a process is no program
_ADOPTED: dict[str, int] = {}  # in a rank: the cells of the notebook that started it


class SourceLocation(tuple[Any, ...]):
    """A line of code, as (code, index of its instruction); words for it are made only when somebody asks."""

    __slots__ = ()

    @property
    def file_and_line(self) -> tuple[str, int]:
        code, instruction = self
        known = _LINES.get(id(code))  # by identity: a code object's own hash reads all of its instructions
        if known is None:
            known = _LINES[id(code)] = weakref.ref(code, functools.partial(_forget, id(code))), {}
        lines = known[1]
        if instruction not in lines:
            lines[instruction] = _line_of(code, instruction)
        return code.co_filename, lines[instruction]

    def __str__(self) -> str:
        return describe_line(*self.file_and_line)


# What has been looked up: the lines of each code object that still lives, by its identity.
_LINES: dict[int, tuple[weakref.ref[CodeType], dict[int, int]]] = {}


def _forget(identity: int, _: weakref.ref[Any]) -> None:
    _LINES.pop(identity, None)


def _line_of(code: CodeType, instruction: int) -> int:
    for start, end, line in code.co_lines():
        if start <= instruction < end and line is not None:
            return line
    return code.co_firstlineno


def describe_line(filename: str, line: int) -> str:
    """A source location in words: the notebook cell or file, the line and its text."""
    cell = notebook_cells().get(filename)
    if cell is not None:
        name = f"cell [{cell}]"
    else:
        name = "a cell" if "ipykernel_" in filename or filename.startswith("<ipython") else filename
    text = linecache.getline(filename, line).strip()
    return f"{name}, line {line}" + (f": {text}" if text else "")


def locate(frame: FrameType | None = None, otherwise: SourceLocation | None = None) -> SourceLocation:
    """The student's own line: the innermost one of the program, seen from `frame` (None: from the caller).

    `otherwise` stands for it where there is none: a started function of the library has only the line of its start.
    """
    frame = last = frame or sys._getframe(1)
    near: FrameType | None = None  # in a package that is not ours
    while frame is not None and frame.f_code.co_filename != _OUTERMOST:
        file = frame.f_code.co_filename
        if belongs_to_program(file):
            return SourceLocation((frame.f_code, frame.f_lasti))
        if near is None and not is_ours(file):
            near = frame
        last, frame = frame, frame.f_back
    return otherwise or SourceLocation(((near or last).f_code, (near or last).f_lasti))


@functools.cache
def belongs_to_program(file: str) -> bool:
    """True for a student's own file or cell: neither this library, nor an installed package, nor Python itself."""
    return not (is_ours(file) or "site-packages" in file or file.startswith((_STANDARD_LIBRARY, "<frozen")))


@functools.cache
def is_ours(filename: str) -> bool:
    """True for a file of this library, or of the threads that it starts."""
    return filename.startswith(_LIBRARY) or filename == threading.__file__


def notebook_cells() -> dict[str, int]:
    """The notebook's cells: the file name that stands for each, and its execution count."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython else None
    return getattr(getattr(shell, "compile", None), "_filename_map", _ADOPTED)


def adopt_cells(cells: dict[str, int]) -> None:
    """Know the cells of the notebook that started this process."""
    _ADOPTED.update(cells)


# --- Tracebacks as a student wants them: their own lines, and the cells of a notebook by number.


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
