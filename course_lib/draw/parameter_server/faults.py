"""Processes that die and come back: one row a process, its deaths, its returns, and the work it finished."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from course_lib.draw.style import COLORS, Picture, finish, new_picture, styled

__all__ = ["draw_faults"]

_LIFE = COLORS["sky"]
_DEAD = COLORS["vermillion"]
_BACK = COLORS["green"]


@styled
def draw_faults(report: Any, *, note: str = "") -> Picture:
    """The events of a FaultReport by time: bars are lives, crosses kills, triangles returns, ticks portions done."""
    lives, kills, backs, done = _by_process(report)
    names = sorted(lives)
    picture, axes = new_picture(7.4, 0.9 + 0.36 * len(names))
    for row, name in enumerate(names):
        bars = [(start, end - start) for start, end in lives[name]]
        axes.broken_barh(bars, (row + 0.2, 0.6), color=_LIFE, edgecolor="none")
        axes.plot(done[name], [row + 0.5] * len(done[name]), "|", color="#1f4e79", markersize=6, alpha=0.6)
        axes.plot(backs[name], [row + 0.5] * len(backs[name]), "^", color=_BACK, markersize=7, markeredgecolor="white")
        axes.plot(kills[name], [row + 0.5] * len(kills[name]), "X", color=_DEAD, markersize=8, markeredgecolor="white")
    axes.set_ylim(len(names), 0)
    axes.set_xlim(min(start for bars in lives.values() for start, _ in bars), report.seconds)
    axes.set_yticks([row + 0.5 for row in range(len(names))], names)
    axes.tick_params(axis="y", length=0)
    axes.set_xlabel("time (s)")
    axes.set_title(f"{report.kills} × kill -9, {report.lost} updates lost")
    marks = (("X", _DEAD, "kill -9"), ("^", _BACK, "back"), ("|", "#1f4e79", "portion done"))
    for marker, color, label in marks:
        axes.plot([], [], marker, color=color, label=label, linestyle="none")
    axes.legend(loc="lower right", bbox_to_anchor=(1.0, 0.99), ncols=3, borderaxespad=0.2, handletextpad=0.2)
    rows = "; ".join(f"{name} killed {len(kills[name])} times, {len(done[name])} portions done" for name in names)
    return finish(picture, origin=report.origin, alt=f"Processes and their deaths by time: {rows}.", note=note)


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
