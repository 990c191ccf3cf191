"""Processes that die and come back: one row a process, its deaths, its returns, and the work it finished."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from course_lib.draw.colors import COLORS
from course_lib.draw.panels import Events, Lane, Stretch, Timeline
from course_lib.draw.panels.picture import picture_of
from course_lib.draw.style import Picture

__all__ = ["draw_faults"]


def draw_faults(report: Any, *, note: str = "") -> Picture:
    """The events of a FaultReport by time: bars are lives, crosses kills, triangles returns, ticks portions done."""
    lives, kills, backs, done = _by_process(report)
    names = sorted(lives)
    stretches = [Stretch(row, *life) for row, name in enumerate(names) for life in lives[name]]
    looks = {"portion done": ("|", "#1f4e79", done), "back": ("^", COLORS["green"], backs)}
    looks["kill -9"] = ("X", COLORS["vermillion"], kills)
    panel = Timeline(
        title=f"{report.kills} × kill -9, {report.lost} updates lost",
        origin=report.origin,
        wide=True,
        rows=names,
        lanes={"lives": Lane(COLORS["sky"], stretches, 0.2, 0.6, edge=False)},
        events={
            what: Events(symbol, color, [(row, at_s) for row, name in enumerate(names) for at_s in times[name]])
            for what, (symbol, color, times) in looks.items()
        },
        seconds=report.seconds,
        row_px=34.0,
    )
    rows = "; ".join(f"{name} killed {len(kills[name])} times, {len(done[name])} portions done" for name in names)
    return picture_of([panel], alt=f"Processes and their deaths by time: {rows}.", note=note)


def _by_process(report: Any) -> tuple[dict[Any, Any], ...]:
    """By process: stretches of life, moments of death, of return, and of portions done."""
    lives: dict[str, list[Any]] = defaultdict(list)
    kills: dict[str, list[Any]] = defaultdict(list)
    backs: dict[str, list[Any]] = defaultdict(list)
    done: dict[str, list[Any]] = defaultdict(list)
    born: dict[str, float] = {}
    for event in report.events:
        if event.what == "back":
            if kills[event.who]:
                backs[event.who].append(event.at_s)
            born.setdefault(event.who, event.at_s)
        elif event.what in ("kill", "death"):
            kills[event.who].append(event.at_s)
            if event.who in born:
                lives[event.who].append((born.pop(event.who), event.at_s))
        elif event.what == "done":
            done[event.who].append(event.at_s)
    for name, start_s in born.items():
        lives[name].append((start_s, report.seconds))
    return lives, kills, backs, done
