"""Source locations: the student's own line, whichever code of ours runs, and words for it."""

from __future__ import annotations

import functools
import linecache
import multiprocessing.process
import os
import sys
import sysconfig
import threading
import weakref
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

__all__ = [
    "SourceLocation",
    "adopt_cells",
    "belongs_to_program",
    "describe_line",
    "is_ours",
    "locate",
    "notebook_cells",
]

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
