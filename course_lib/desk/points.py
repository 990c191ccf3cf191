"""The student's own points, as `check` gives them, in a small file on the desk.

The most that a check ever gave stands, so that a cell run out of order takes nothing away; the last is kept beside it.
They are the student's to read and to change: a grade is what the judge says of the notebook that is handed in.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from course_lib.desk.files import HIDDEN, DeskError, locked, text_of, write_whole

POINTS = Path(HIDDEN, "points.json")


@dataclass(frozen=True)
class KeptPoints:
    """What checks gave for one exercise: the most, and the last time."""

    most: float
    last: float


def desk_around(folder: Path) -> Path | None:
    """The desk that this folder is, or is part of; None if there is none."""
    return next((each for each in (folder, *folder.parents) if (each / HIDDEN).is_dir()), None)


def kept_points(desk: Path) -> dict[str, KeptPoints]:
    """Points by exercise, what was checked last at the end; nothing before the first check.

    Raises:
        DeskError: if the file cannot be understood. It is not overwritten then.
    """
    file = desk / POINTS
    try:
        said = json.loads(text_of(file.read_bytes()))  # they may change it in any editor
        return {name: KeptPoints(float(each["most"]), float(each["last"])) for name, each in said.items()}
    except FileNotFoundError:
        return {}
    except (ArithmeticError, AttributeError, KeyError, RecursionError, TypeError, ValueError) as error:
        raise DeskError(f"{file} is no file of points: mend it, or move it away") from error


def keep(desk: Path, points: Mapping[str, float]) -> dict[str, KeptPoints]:
    """Keep what a check gave, by exercise; returns all points that are kept now.

    Raises:
        DeskError: if the file with the points cannot be understood, or somebody else holds the desk.
        OSError: if it cannot be written; the points of before are still there.
    """
    with locked(desk):
        before = kept_points(desk)
        most = {name: max(given, before[name].most if name in before else 0.0) for name, given in points.items()}
        others = {name: each for name, each in before.items() if name not in points}
        kept = others | {name: KeptPoints(most[name], given) for name, given in points.items()}
        if list(kept.items()) != list(before.items()):
            said = {name: {"most": each.most, "last": each.last} for name, each in kept.items()}
            write_whole(desk, desk / POINTS, json.dumps(said, indent=1) + "\n")
    return kept
