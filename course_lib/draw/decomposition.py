"""Numbers stored in each format as the modes grow in number, one panel for each tensor."""

from __future__ import annotations

from collections.abc import Mapping
from math import log10

from matplotlib.lines import Line2D
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from course_lib.decomposition import Storage
from course_lib.draw.style import INK, PAGE_IN, Picture, finish, look_of, new_picture, styled
from course_lib.draw.units import log_ticks

__all__ = [
    "FORMATS",
    "draw_storage",
]

FORMATS = ("whole", "SVD", "Tucker", "tensor train")


@styled
def draw_storage(
    tensors: Mapping[str, Mapping[int, Storage]], *, as_matrix: Mapping[str, int] | None = None, note: str = ""
) -> Picture:
    """Name of a tensor -> modes -> numbers stored, on a logarithmic axis of its own for each tensor.

    Args:
        as_matrix: numbers that the SVD of the matrix itself stores, from which a tensor was cut: a dotted line.

    Raises:
        ValueError: if there is no tensor.
    """
    if not tensors:
        raise ValueError("there must be a tensor to draw, got none")
    picture, panels = new_picture(PAGE_IN, 2.9, 1, len(tensors), squeeze=False)
    for axes, (name, by_modes) in zip(panels.flat, tensors.items(), strict=True):
        for position, form in enumerate(FORMATS):
            look = look_of(form)
            line = {"color": look.color, "linestyle": look.dash, "marker": look.marker, "markersize": 5}
            axes.plot(list(by_modes), [stored[position] for stored in by_modes.values()], **line)
        counts = [count for stored in by_modes.values() for count in stored]
        if as_matrix and name in as_matrix:
            axes.axhline(as_matrix[name], color=INK, linestyle=":", linewidth=1.6)
            counts.append(as_matrix[name])
        axes.set_yscale("log")
        axes.set_ylim(bottom=min(*counts, max(counts) / 10) / 1.2)  # a decade at least: small differences look small
        axes.yaxis.set_major_locator(FixedLocator(log_ticks(min(*counts, max(counts) / 10), max(counts), 6)))
        axes.yaxis.set_minor_locator(NullLocator())
        axes.yaxis.set_major_formatter(FuncFormatter(lambda count, _: _short(count)))
        axes.xaxis.set_major_locator(FixedLocator(_ticks(list(by_modes))))
        axes.set_title(name)
        axes.set_xlabel("modes d")
        axes.grid()
    panels[0, 0].set_ylabel("numbers stored")
    looks = {form: look_of(form) for form in FORMATS}
    handles = [
        Line2D([], [], color=look.color, linestyle=look.dash, marker=look.marker, markersize=5, label=form)
        for form, look in looks.items()
    ]
    if as_matrix:
        handles.append(Line2D([], [], color=INK, linestyle=":", linewidth=1.6, label="SVD of the matrix itself"))
    picture.legend(handles=handles, loc="outside upper left", ncols=len(handles), handlelength=3.2)
    matrices = "".join(f" The SVD of the matrix itself, {name}: {n:,}." for name, n in (as_matrix or {}).items())
    return finish(picture, origin="computed", alt=_describe(tensors) + matrices, note=note)


def _ticks(modes: list[int]) -> list[int]:
    """All of them where there are few, else about six."""
    return modes if len(modes) <= 8 else modes[:: -(-len(modes) // 6)]


def _short(count: float) -> str:
    """The number, or its power of ten where it is long."""
    return f"$10^{{{log10(count):.0f}}}$" if count >= 1e5 and log10(count).is_integer() else f"{count:,.0f}"


def _describe(tensors: Mapping[str, Mapping[int, Storage]]) -> str:
    parts = []
    for name, by_modes in tensors.items():
        for modes in (min(by_modes), max(by_modes)):
            counts = ", ".join(f"{form} {n:,.0f}" for form, n in zip(FORMATS, by_modes[modes], strict=True))
            parts.append(f"{name} in {modes} modes: {counts}")
    return f"Numbers stored. {'; '.join(parts)}."
