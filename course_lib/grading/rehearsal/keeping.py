"""What the check gives is kept on the student's desk, if there is one; whatever goes wrong there, the check goes on."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from course_lib.desk import DeskError, desk_around, keep, write_start_page


def keep_on_desk(points: Mapping[str, float]) -> str:
    """Keep these points, by exercise, on the desk that the notebook lies on; a sentence about it, empty without one."""
    try:
        desk = desk_around(Path.cwd())
        if desk is None or not points:
            return ""
        kept = keep(desk, points)
        write_start_page(desk)
    except (DeskError, OSError) as error:
        return f"These points could not be kept on your desk: {error}."
    chapter = next(iter(points))[:2]
    total = sum(each.most for name, each in kept.items() if name.startswith(chapter))
    return f"Kept on your desk: {total:g} points in chapter {chapter} so far."
