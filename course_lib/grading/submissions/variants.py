"""A class with variants: which variant a notebook says it is of, and a process of its own to grade those of each."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from course_lib.grading.exercises import sources
from course_lib.grading.exercises.sources import VARIANT
from course_lib.grading.exercises.variants import KEY, VariantError
from course_lib.grading.submissions.files import Unreadable, plain, read

if TYPE_CHECKING:
    from course_lib.grading.submissions.folder import Submission

PART = "COURSE_PART_OF_A_MIX"  # the environment of a process that grades one variant of a class
NAME = re.compile(r"[0-9a-f]{12}")


def variant_of(path: Path) -> str:
    """The variant that a notebook's metadata names; empty for the course's own exercises and what is no notebook."""
    try:
        data = json.loads(read(path)[0])
    except (Unreadable, ValueError, RecursionError, OSError):
        return ""
    metadata = data.get("metadata") if isinstance(data, dict) else None
    name = metadata.get(KEY) if isinstance(metadata, dict) else None
    return str(name)[:40] if name else ""


def is_part() -> bool:
    """Whether this process grades one variant of a class, for another one that grades the class."""
    return PART in os.environ


def mine(found: Sequence[Submission], is_mix: bool) -> list[Submission]:
    """Those of the exercises that this process has.

    Raises:
        VariantError: if there are others, and nobody said that the class is a mix.
    """
    kept = []
    for one in found:
        name = variant_of(one.path) if one.cells else ""
        if name == sources.variant() or (not one.cells and not is_part()):
            kept.append(one)
        elif not is_mix:
            its = f"variant {plain(name)}" if name else "the course's own exercises"
            here = f"variant {sources.variant()}" if sources.variant() else "the course's own"
            raise VariantError(
                f"{plain(str(one.path))} is of {its}, the exercises here are {here}: say with --variants FOLDER where "
                "`course build --variant` put the variants"
            )
    return kept


def packs_for(found: Sequence[Submission], folder: Path) -> dict[str, Path]:
    """The pack of each variant that these are of, by its name.

    Raises:
        VariantError: if one is of a variant that is not in the folder.
    """
    there = {_name_in(path): path for path in sorted(folder.glob("*/exercises.zip"))}
    packs: dict[str, Path] = {}
    for one in found:
        if not one.cells or not (name := variant_of(one.path)):
            continue
        if not NAME.fullmatch(name) or name not in there:
            known = ", ".join(sorted(filter(None, there))) or "none"
            raise VariantError(
                f"{plain(str(one.path))} is of variant {plain(name)}, which is not in {plain(str(folder))}; "
                f"those there: {known}"
            )
        packs[name] = there[name]
    return packs


def _name_in(pack: Path) -> str:
    try:
        with zipfile.ZipFile(pack) as archive:
            return archive.read(VARIANT).decode()
    except (zipfile.BadZipFile, KeyError, UnicodeDecodeError, OSError):
        return ""


def run_with(pack: Path, arguments: Sequence[str] = ()) -> int:
    """Call `course` once more with the exercises of this pack; returns its exit status."""
    environment = os.environ | {"COURSE_EXERCISES": str(pack.resolve()), PART: "1"}
    call = [sys.executable, "-m", "course_lib", *(arguments or sys.argv[1:])]
    return subprocess.run(call, env=environment, check=False).returncode
