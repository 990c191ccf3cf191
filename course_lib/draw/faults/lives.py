"""A training's lives: how far each one came, and what of it was lost."""

from __future__ import annotations

from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import MaxNLocator

from course_lib.draw.style import COLORS, INK, Picture, finish, new_picture, styled
from course_lib.faults.experiments import KilledTraining

__all__ = ["draw_lives"]


@styled
def draw_lives(training: KilledTraining, *, title: str = "", note: str = "") -> Picture:
    """A bar for each life that was killed: steps that a checkpoint keeps, then those that were lost.

    Raises:
        ValueError: if no life was killed.
    """
    lives = training.lives
    if not lives:
        raise ValueError("there must be a life that was killed, got none")
    picture, axes = new_picture(7.4, 0.9 + 0.24 * len(lives))
    for number, life in enumerate(lives, start=1):
        kept, lost = life.ended_at - life.began_at, life.died_at - life.ended_at
        axes.barh(number, kept, left=life.began_at, color=COLORS["green"])
        axes.barh(number, lost, left=life.ended_at, color=COLORS["orange"], hatch="////", edgecolor=INK, linewidth=0.5)
        axes.plot([life.died_at], [number], marker="x", color=INK, clip_on=False)
    axes.invert_yaxis()
    axes.yaxis.set_major_locator(MaxNLocator(integer=True))
    axes.set(xlabel="step", ylabel="life", xlim=(0, None))
    axes.set_title(title or f"{len(lives)} lives, each ended by kill -9")
    looks = [Patch(color=COLORS["green"], label="kept"), Patch(facecolor=COLORS["orange"], hatch="////", label="lost")]
    killed = Line2D([], [], color=INK, marker="x", linestyle="", label="killed")
    picture.legend(handles=[*looks, killed], loc="outside right upper")
    lost = sum(life.died_at - life.ended_at for life in lives)
    words = (
        f"{len(lives)} lives came to steps {', '.join(str(life.died_at) for life in lives)}; {lost} steps were lost."
    )
    return finish(picture, origin="measured", alt=words, note=note)
