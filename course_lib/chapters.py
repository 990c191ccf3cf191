"""What each chapter's package declares about itself, read without importing it.

A package of `course_lib` that has a file `chapter.json` is a chapter::

    {"builds_on": ["collectives"], "preload": false}

`builds_on` names the chapters whose code it imports. With `preload`, fresh processes have the chapter imported already:
for one that starts processes one by one while others wait for them. It may name the modules that are enough for that.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

__all__ = ["Chapter", "chapters"]


class Chapter(NamedTuple):
    """A chapter's package, and what its `chapter.json` says."""

    name: str
    builds_on: tuple[str, ...]
    preload: tuple[str, ...]


def chapters() -> list[Chapter]:
    """All chapters, by name.

    >>> [chapter.builds_on for chapter in chapters() if chapter.name == "collectives"]
    [()]
    """
    files = sorted(Path(__file__).parent.glob("*/chapter.json"))
    declared = {file.parent.name: json.loads(file.read_text(encoding="utf-8")) for file in files}
    return [Chapter(name, tuple(said["builds_on"]), _preload(name, said)) for name, said in declared.items()]


def _preload(name: str, said: dict[Any, Any]) -> tuple[str, ...]:
    """The modules that fresh processes have imported already.

    >>> [_preload("mesh", {"preload": wanted}) for wanted in (False, True, ["a.b"])]
    [(), ('course_lib.mesh',), ('a.b',)]
    """
    wanted = said.get("preload", False)
    if isinstance(wanted, list):
        return tuple(wanted)
    return (f"course_lib.{name}",) if wanted else ()
