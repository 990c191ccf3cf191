"""Time against memory: a point for each plan, and the line below which no plan is."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from matplotlib.ticker import FuncFormatter, MaxNLocator, NullLocator

from course_lib.draw.style import Picture, finish, looks_of, new_picture, styled
from course_lib.draw.units import format_range

__all__ = ["draw_frontier"]

_TICKS = (1, 1.5, 2, 3, 5, 8, 15, 30, 60)


@styled
def draw_frontier(
    plans: Mapping[str, Iterable[tuple[float, float]]],
    *,
    line: str = "optimum",
    memory: str = "memory",
    show: Callable[[float], str] = "{:g}".format,
    origin: str = "computed",
    title: str = "",
    note: str = "",
) -> Picture:
    """Plans by name, each (memory, forward passes): points, and for `line` steps.

    Raises:
        ValueError: if there is none.
    """
    points = {name: sorted(each) for name, each in plans.items()}
    if not any(points.values()):
        raise ValueError("there must be a plan to draw, got none")
    picture, axes = new_picture(7.4, 4.0)
    looks, words = looks_of(points), []
    for name, each in points.items():
        color, marker, _ = looks[name]
        x, y = [x for x, _ in each], [y for _, y in each]
        if name == line:
            axes.step(x, y, where="post", color=color, linewidth=2, label=name, zorder=1)
        else:
            axes.plot(x, y, linestyle="", marker=marker, color=color, markersize=6.5, alpha=0.85, label=name)
        words.append(f"{name}, {format_range(y, '{:.2g}'.format)} forward passes at {format_range(x, show)}")
    axes.set_yscale("log")
    highest = max(y for each in points.values() for _, y in each)
    axes.set_yticks([tick for tick in _TICKS if tick <= 1.1 * highest])
    axes.yaxis.set_minor_locator(NullLocator())
    axes.yaxis.set_major_formatter(FuncFormatter(lambda passes, _: f"{passes:g}×"))
    axes.xaxis.set_major_locator(MaxNLocator(6))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda amount, _: show(amount)))
    axes.set_xlim(0)
    axes.grid(True)
    axes.set_xlabel(memory)
    axes.set_ylabel("forward passes")
    axes.set_title(title)
    picture.legend(loc="outside right upper")
    return finish(picture, origin=origin, alt=f"Forward passes against {memory}: {'; '.join(words)}.", note=note)
