"""Levels of protection: which walls stand around student code on this machine, in words that a teacher can act on."""

from __future__ import annotations

import os
import sys

from course_lib.grading.sandbox import seccomp
from course_lib.grading.sandbox.confine import Walls

LEVELS = {
    "root": Walls(seccomp=True, namespaces=True, users=True),
    "user": Walls(seccomp=True, namespaces=True),
    "filter": Walls(seccomp=True),
    "unsafe": Walls(),
}

WORDS = {
    "seccomp": "a system-call filter (no files, sockets, processes, signals)",
    "namespaces": "namespaces in an empty file system",
    "users": "a user id of its own for each rank",
}

# What is open where a wall does not stand.
OPEN = {
    "seccomp": "ranks can pass each other numbers beside the wire, and such an answer can get points",
    "namespaces": "a hole in the filter would lead to this machine's files and network",
    "users": "a hole in the filter would lead to your processes",
}


def best_level() -> str:
    """The strongest level to ask for on this system; what really stands is known once the zygote has tried it."""
    if not seccomp.supported():
        return "unsafe"
    return "root" if os.geteuid() == 0 else "user"


def describe(walls: Walls) -> str:
    """One sentence about what stands between a submission and this machine."""
    always = "each rank a process of its own with limits, the wire is the judge's"
    if not walls.words():
        return (
            f"UNSAFE: {always}, but the code runs with your rights (files, network, signals): {OPEN['seccomp']}. "
            "Better: grade in a Linux container."
        )
    level = next((name for name, each in LEVELS.items() if each == walls), "partial")
    stand = ", ".join(WORDS[word] for word in walls.words())
    lacking = "; ".join(OPEN[word] for word in OPEN if word not in walls.words())
    return f"{level}: {stand}; {always}." + (f" Not held at this level: {lacking}." if lacking else "")


def refusal() -> str:
    """What to say where no isolation is to be had."""
    container = "Grade in a Linux container (any image with Python and this package)"
    if not hasattr(os, "fork"):
        return f"Not graded: this system cannot start ranks for the judge. {container}."
    reason = (
        "this kernel gives no system-call filter"
        if sys.platform == "linux"
        else "system-call filters exist on Linux only"
    )
    return (
        f"Not graded: {reason}, so a submission would run with your rights. {container}, "
        "or say --unsafe: the wire is still checked, but the code can read and write your files."
    )
