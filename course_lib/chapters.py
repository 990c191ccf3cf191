"""What each chapter's package declares about itself, read without importing it.

A package of `course_lib` that has a file `chapter.json` is a chapter::

    {"builds_on": ["collectives"]}

`builds_on` names the chapters whose code it imports.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import NamedTuple


class Chapter(NamedTuple):
    """A chapter's package, and what its `chapter.json` says."""

    name: str
    builds_on: tuple[str, ...]


def chapters() -> list[Chapter]:
    """All chapters, by name.

    >>> [chapter.builds_on for chapter in chapters() if chapter.name == "collectives"]
    [()]
    """
    files = sorted(Path(__file__).parent.glob("*/chapter.json"))
    declared = {file.parent.name: json.loads(file.read_text(encoding="utf-8")) for file in files}
    return [Chapter(name, tuple(said["builds_on"])) for name, said in declared.items()]
