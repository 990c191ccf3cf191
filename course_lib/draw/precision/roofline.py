"""The roofline of a machine and the operations below it."""

from __future__ import annotations

from collections.abc import Mapping

from matplotlib.ticker import FuncFormatter, NullLocator

from course_lib.draw.style import INK, MUTED, Picture, finish, looks_of, new_picture, styled
from course_lib.precision import Roofline

__all__ = ["draw_roofline"]


@styled
def draw_roofline(
    roofline: Roofline, operations: Mapping[str, tuple[float, float]], *, origin: str = "measured", note: str = ""
) -> Picture:
    """The roof as a line, and below it each operation as a point.

    Args:
        operations: by name: flops for each byte, and flops per second.

    Raises:
        ValueError: if there is no operation.
    """
    if not operations:
        raise ValueError("there must be an operation to draw, got none")
    picture, axes = new_picture(7.4, 4.2)
    intensities = [intensity for intensity, _ in operations.values()]
    ends = [min(*intensities, roofline.ridge) / 2, roofline.ridge, max(*intensities, roofline.ridge) * 2]
    axes.plot(ends, [roofline.attainable_flops_per_s(x) / 1e9 for x in ends], color=INK, linewidth=1.8)
    axes.axvline(roofline.ridge, color=MUTED, linestyle=":", linewidth=1.2)
    axes.text(
        0.93 * roofline.ridge, 0.03, f"ridge: {roofline.ridge:.1f} flops/byte ", transform=axes.get_xaxis_transform(),
        rotation=90, ha="right", va="bottom", fontsize=9,
    )  # fmt: skip
    looks = looks_of(operations)
    for name, (intensity, flops_per_s) in operations.items():
        look = looks[name]
        axes.plot([intensity], [flops_per_s / 1e9], look.marker, color=look.color, markersize=8, label=name)
    for axis, scale, label in (
        (axes.xaxis, axes.set_xscale, "flops for each byte"),
        (axes.yaxis, axes.set_yscale, "GFLOP/s"),
    ):
        scale("log")
        axis.set_minor_locator(NullLocator())
        axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        axis.set_label_text(label)
    axes.grid()
    axes.set_title("The roofline of this machine")
    picture.legend(loc="outside right upper")
    return finish(picture, origin=origin, alt=_describe(roofline, operations), note=note)


def _describe(roofline: Roofline, operations: Mapping[str, tuple[float, float]]) -> str:
    points = [
        f"{name}: {speed / 1e9:.3g} GFLOP/s at {intensity:.3g} flops/byte, "
        f"{speed / roofline.attainable_flops_per_s(intensity):.0%} of the roof"
        for name, (intensity, speed) in operations.items()
    ]
    return (
        f"A roof of {roofline.flops_per_s / 1e9:.3g} GFLOP/s and {roofline.bytes_per_s / 1e9:.3g} GB/s, "
        f"ridge at {roofline.ridge:.3g} flops/byte. {'; '.join(points)}."
    )
