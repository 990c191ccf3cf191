"""The judge, which decides grades, and the only door to it and to the sandbox: others import these names alone.

None of a student's code ever runs in the judge. It starts ranks behind walls, routes their messages and grades what
comes of it. Read its modules in this order: `protection` (which walls there are), `launcher` (ranks behind them),
`requests` (one rank as the judge knows it, and what it may ask), `trial` (one run, judged, with its time-out),
`attempts` (on which cells an answer runs, and tried again where something else ended it), `perturb` (a message changed
on its way), `grader` (all trials of an answer, and its points). The other side is `course_lib.grading.sandbox`. The
check in the notebook runs answers in the student's own process; what it must do exactly as the sandbox does, it takes
from there through this door.

A name's module is imported when the name is first used: a notebook's check then loads no judge, and what the judge
itself imports, such as `verdict`, may use the door as well.
"""

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from course_lib.grading.judge.attempts import JudgeError, Limits
    from course_lib.grading.judge.grader import Grade, Grader
    from course_lib.grading.judge.launcher import Launcher, LauncherError
    from course_lib.grading.judge.protection import LEVELS, best_level, describe, refusal
    from course_lib.grading.sandbox.alike import as_under_grading
    from course_lib.grading.sandbox.cells import persistent, refuse_unrun
    from course_lib.grading.sandbox.communicator import Transfers
    from course_lib.grading.sandbox.frames import UNREADABLE, decode, encode, with_tensors
    from course_lib.grading.sandbox.magics import as_python, begins_statement
    from course_lib.grading.sandbox.stubs import LIBRARIES, SHOWING, is_there, not_there
    from course_lib.grading.sandbox.tensors import as_plain, raw_bytes, snapshot
else:
    _NAMES = {
        "judge.attempts": "JudgeError Limits",
        "judge.grader": "Grade Grader",
        "judge.launcher": "Launcher LauncherError",
        "judge.protection": "LEVELS best_level describe refusal",
        "sandbox.alike": "as_under_grading",
        "sandbox.cells": "persistent refuse_unrun",
        "sandbox.communicator": "Transfers",
        "sandbox.frames": "UNREADABLE decode encode with_tensors",
        "sandbox.magics": "as_python begins_statement",
        "sandbox.stubs": "LIBRARIES SHOWING is_there not_there",
        "sandbox.tensors": "as_plain raw_bytes snapshot",
    }
    _MODULE_OF = {name: module for module, names in _NAMES.items() for name in names.split()}

    def __getattr__(name):
        if name not in _MODULE_OF:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(importlib.import_module(f"course_lib.grading.{_MODULE_OF[name]}"), name)


__all__ = [
    "LEVELS",
    "LIBRARIES",
    "SHOWING",
    "UNREADABLE",
    "Grade",
    "Grader",
    "JudgeError",
    "Launcher",
    "LauncherError",
    "Limits",
    "Transfers",
    "as_plain",
    "as_python",
    "as_under_grading",
    "begins_statement",
    "best_level",
    "decode",
    "describe",
    "encode",
    "is_there",
    "not_there",
    "persistent",
    "raw_bytes",
    "refusal",
    "refuse_unrun",
    "snapshot",
    "with_tensors",
]
