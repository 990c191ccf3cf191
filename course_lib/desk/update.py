"""Lays the course on a desk, and newer versions of it later, and overwrites nothing of the student's.

A file that the student has not touched is replaced. One that they have changed, or run, stays, and the newer version
is laid beside it, once. A file that they have removed is laid again. Files that the course no longer has stay. Guesses
come along into the newer version; a page with a guess that has no place in it stays as well.
"""

from __future__ import annotations

import itertools
import json
import os
import shlex
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from course_lib.desk.files import HIDDEN, DeskError, course_folder, locked, make_folder, sweep, write_whole
from course_lib.desk.guesses import bring_along, guesses, has_places
from course_lib.desk.versions import bare, course_files, fingerprint, has_outputs

# What JupyterLab opens with, by its own name: at first the contents panel, later what the student left.
WORKSPACE = Path(HIDDEN, "workspaces", "default-37a8.jupyterlab-workspace")
# What assistants read: most know the first name, Gemini CLI only the second. In this package under other names, so that
# no assistant takes them for rules of its folder.
ASSISTANTS = {
    Path("AGENTS.md"): Path(__file__).with_name("for_assistants.md"),
    Path("GEMINI.md"): Path(__file__).with_name("for_gemini.md"),
}


@dataclass
class Manifest:
    """What the course knows of a desk.

    Attributes:
        laid: for each file that the course has laid, the fingerprints it may have had then: two while it is replaced.
        given: for each of the course's own files, the fingerprint of the version that the student has or was given.
    """

    laid: dict[str, list[str]] = field(default_factory=dict)
    given: dict[str, str] = field(default_factory=dict)

    @classmethod
    def read(cls, desk: Path) -> Manifest:
        """That of this desk. Without one, or with one that cannot be read, every file there is the student's."""
        try:
            said = json.loads((desk / HIDDEN / "manifest.json").read_text(encoding="utf-8"))
            return cls(dict(said["laid"]), dict(said["given"]))
        except (FileNotFoundError, KeyError, RecursionError, TypeError, ValueError):
            return cls()

    def write(self, desk: Path) -> None:
        text = json.dumps({"laid": self.laid, "given": self.given}, indent=1, sort_keys=True)
        write_whole(desk, desk / HIDDEN / "manifest.json", text + "\n")


@dataclass(frozen=True)
class _Step:
    """What is to be done for one of the course's files: the place where its version goes, or lies already."""

    name: str
    place: Path
    text: str
    fingerprint: str
    there: str | None = None
    said: str = ""
    writes: bool = True
    worked_in: bool = False


def lay(desk: Path, course: Path | None = None) -> list[str]:
    """Make a desk of this folder, or bring it up to date; returns what there is to say, a sentence each.

    Raises:
        DeskError: if the folder is no desk and not empty, or somebody else is changing it.
        OSError: if something cannot be read or written; what is there is whole, and the next call goes on.
    """
    course = course or course_folder()
    _begin(desk)
    with locked(desk):
        sweep(desk)
        if not (desk / WORKSPACE).exists():
            write_whole(desk, desk / WORKSPACE, Path(__file__).with_name("workspace.json").read_text(encoding="utf-8"))
        manifest = Manifest.read(desk)
        first = not manifest.given
        files = {name: course / name for name in course_files(course)} | ASSISTANTS
        steps = [step for name, source in files.items() if (step := _step(desk, manifest, name, source))]
        writes = [step for step in steps if step.writes]
        for step in writes:  # should this be killed, both versions are known to be the course's
            known = manifest.laid.get(step.place.as_posix(), [])
            manifest.laid[step.place.as_posix()] = known if step.worked_in else [*known, step.fingerprint]
        if writes:
            manifest.write(desk)
        for step in writes:
            if _read(desk / step.place) != step.there:  # saved just now: the next call sees to it
                steps.remove(step)
                continue
            write_whole(desk, desk / step.place, step.text)
        for step in steps:
            manifest.given[step.name] = step.fingerprint
            if not step.worked_in:
                manifest.laid[step.place.as_posix()] = [step.fingerprint]
        if steps:
            manifest.write(desk)
    return [step.said for step in steps if step.said and not (first and step.said.startswith("new: "))]


def _begin(desk: Path) -> None:
    hidden = desk / HIDDEN
    if hidden.is_dir():
        return
    if desk.is_dir() and any(desk.iterdir()) and not os.path.lexists(hidden):
        words = "is not empty, and no desk: name a new folder"
        raise DeskError(f"{desk} {words}. If it was one, `mkdir {shlex.quote(str(hidden))}` makes it one again")
    make_folder(hidden)


def _step(desk: Path, manifest: Manifest, inner: Path, source: Path) -> _Step | None:
    """What is to be done for this file of the course; None if the student has, or was given, its version already."""
    text = source.read_text(encoding="utf-8")
    name = inner.as_posix()
    worked_in = False
    there = None
    if inner.suffix == ".ipynb":
        worked_in = inner.parts[0] == "exercises" and has_outputs(name, text)  # the course's own come without
        text = text if worked_in else bare(source)
    new, before = fingerprint(name, text), manifest.given.get(name)
    if before == new and os.path.lexists(desk / inner):
        return None
    guessed = {} if worked_in else guesses(_read(desk / inner))
    for place in itertools.chain([inner], newer_names(inner)):
        if not os.path.lexists(desk / place):
            words, there = (f"{name} was gone and lies there again" if before else f"new: {name}"), None
            break
        there = _read(desk / place)
        if there is not None and fingerprint(name, there) == new:
            return _Step(name, place, text, new, writes=False, worked_in=worked_in)
        laid = manifest.laid.get(place.as_posix(), [])
        untouched = there is not None and fingerprint(name, there) in laid and not has_outputs(name, there)
        if untouched and has_places(text, here := guesses(there)):
            guessed |= here
            words = f"brought up to date: {name}"
            break
    if place != inner:
        words = f"{name} is yours and stays; the course's newer version lies beside it: {place.as_posix()}"
    return _Step(name, place, bring_along(text, guessed), new, there, words, worked_in=worked_in)


def _read(path: Path) -> str | None:
    """The text of a plain file; None of anything else, which is the student's."""
    try:
        return None if path.is_symlink() else path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return None


def newer_names(inner: Path) -> Iterator[Path]:
    """The names under which a newer version may lie beside a file.

    >>> [path.name for path in itertools.islice(newer_names(Path("exercises/02_allreduce.ipynb")), 2)]
    ['02_allreduce.newer.ipynb', '02_allreduce.newer-2.ipynb']
    """
    yield inner.with_suffix(f".newer{inner.suffix}")
    for number in itertools.count(2):
        yield inner.with_suffix(f".newer-{number}{inner.suffix}")
