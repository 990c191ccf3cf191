"""Numbers stored in each format as the modes grow in number, one panel for each tensor."""

from __future__ import annotations

from collections.abc import Mapping

from course_lib.decomposition import Storage
from course_lib.draw.colors import INK
from course_lib.draw.lines import Axis, scaled
from course_lib.draw.panels import Line, Lines, axis
from course_lib.draw.panels.picture import picture_of
from course_lib.draw.style import Picture
from course_lib.draw.units import format_power

__all__ = ["FORMATS", "draw_storage"]

FORMATS = ("whole", "SVD", "Tucker", "tensor train")
_ITSELF = "SVD of the matrix itself"


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
    panels = [_storage_panel(name, by_modes, as_matrix or {}) for name, by_modes in tensors.items()]
    matrices = "".join(f" The SVD of the matrix itself, {name}: {n:,}." for name, n in (as_matrix or {}).items())
    return picture_of(panels, alt=_describe(tensors) + matrices, note=note, columns=len(panels), shared=True)


def _storage_panel(name: str, by_modes: Mapping[int, Storage], as_matrix: Mapping[str, int]) -> Lines:
    modes = list(by_modes)
    lines = {
        form: Line(modes, [stored[position] for stored in by_modes.values()], drawn="line and dots", size_px=6.5)
        for position, form in enumerate(FORMATS)
    }
    if as_matrix:  # in every panel, so that all have one legend
        itself = [as_matrix[name]] * 2 if name in as_matrix else []
        lines[_ITSELF] = Line([modes[0], modes[-1]][: len(itself)], itself, INK, (2, 3))
    counts = [count for line in lines.values() for count in line.y]
    counts.append(max(counts) / 10)  # a decade at least: small differences look small
    return Lines(
        title=name,
        origin="computed",
        lines=lines,
        x=axis("modes d", modes, low=modes[0], at=_ticks(modes), show="{:g}".format),
        y=scaled(Axis("numbers stored", format_power, log=True), counts),
        height_px=190.0,
        grid="xy",
    )


def _ticks(modes: list[int]) -> list[int]:
    """All of them where there are few, else about six."""
    return modes if len(modes) <= 8 else modes[:: -(-len(modes) // 6)]


def _describe(tensors: Mapping[str, Mapping[int, Storage]]) -> str:
    parts = []
    for name, by_modes in tensors.items():
        for modes in (min(by_modes), max(by_modes)):
            counts = ", ".join(f"{form} {n:,.0f}" for form, n in zip(FORMATS, by_modes[modes], strict=True))
            parts.append(f"{name} in {modes} modes: {counts}")
    return f"Numbers stored. {'; '.join(parts)}."
