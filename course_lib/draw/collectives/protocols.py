"""The published all-reduce times of eight A100s, and what NCCL's own model of its three protocols says of them."""

from __future__ import annotations

import itertools

from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

from course_lib.draw.curves import label_bytes_axis
from course_lib.draw.style import COLORS, INK, MUTED, Picture, finish, new_picture, styled
from course_lib.draw.units import format_bytes, format_seconds
from course_lib.published import A100_SWEEP, NCCL_RING_PROTOCOLS, nccl_ring_choice, nccl_ring_seconds

__all__ = ["describe_a100_sweep", "draw_a100_sweep"]

_LOOKS = {
    "LL": (COLORS["orange"], (0, (1, 1.2))),
    "LL128": (COLORS["green"], (0, (5, 1.5))),
    "Simple": (COLORS["blue"], "solid"),
}


@styled
def draw_a100_sweep() -> Picture:
    """Published times as crosses, NCCL's model of each protocol as lines, and where its fastest protocol changes."""
    picture, axes = new_picture(7.4, 4.4)
    sizes = [timing.message_bytes for timing in A100_SWEEP]
    fine = [sizes[0] * 2 ** (i / 8) for i in range(8 * (len(sizes) - 1) + 1)]
    for protocol in NCCL_RING_PROTOCOLS:
        color, dash = _LOOKS[protocol]
        line = [nccl_ring_seconds(protocol, size) for size in fine]
        axes.plot(fine, line, color=color, linestyle=dash, linewidth=2, label=f"{protocol} (computed)")
    seconds = [timing.seconds for timing in A100_SWEEP]
    axes.plot(sizes, seconds, "x", color=INK, markersize=7, markeredgewidth=1.8, label="published")
    _mark_switches(axes, sizes)
    _dress(axes, sizes)
    axes.legend(loc="upper left")
    note = "8 × A100, one server; model: NCCL tuning.cc"
    return finish(picture, origin="published, computed", alt=describe_a100_sweep(), note=note)


def describe_a100_sweep() -> str:
    """The figure in words."""
    first, last = A100_SWEEP[0], A100_SWEEP[-1]
    switched = [f"{new} after {format_bytes(size)}" for size, new in _switches()]
    return (
        f"Time of an all-reduce on eight A100 GPUs, both axes logarithmic: from {format_seconds(first.seconds)} at "
        f"{format_bytes(first.message_bytes)} to {format_seconds(last.seconds)} at {format_bytes(last.message_bytes)}. "
        f"NCCL's model begins with {nccl_ring_choice(first.message_bytes)} and changes to {' and to '.join(switched)}."
    )


def _switches() -> list[tuple[int, str]]:
    """The last size before each change of the fastest protocol, and the protocol after it."""
    pairs = itertools.pairwise(A100_SWEEP)
    choices = [
        (a.message_bytes, nccl_ring_choice(a.message_bytes), nccl_ring_choice(b.message_bytes)) for a, b in pairs
    ]
    return [(size, after) for size, before, after in choices if before != after]


def _mark_switches(axes: Axes, sizes: list[int]) -> None:
    """A vertical line at each switch, and the name of the fastest protocol between them."""
    edges = [sizes[0] / 2**0.5, *(size * 2**0.5 for size, _ in _switches()), sizes[-1] * 2**0.5]
    names = [nccl_ring_choice(sizes[0]), *(name for _, name in _switches())]
    for edge in edges[1:-1]:
        axes.axvline(edge, color=MUTED, linewidth=1, linestyle=(0, (2, 2)))
    for name, low, high in zip(names, edges, edges[1:], strict=False):
        middle = (low * high) ** 0.5
        axes.text(
            middle, 0.02, f"{name} fastest", transform=axes.get_xaxis_transform(), ha="center", fontsize=9, color=MUTED
        )


def _dress(axes: Axes, sizes: list[int]) -> None:
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    axes.set_xlim(sizes[0] / 2**0.5, sizes[-1] * 2**0.5)
    axes.set_ylim(4e-6, 1)
    label_bytes_axis(axes, sizes)
    axes.yaxis.set_major_locator(LogLocator(base=10))
    axes.yaxis.set_minor_locator(NullLocator())
    axes.yaxis.set_major_formatter(FuncFormatter(lambda seconds, _: format_seconds(seconds)))
    axes.set_xlabel("message size")
    axes.set_ylabel("time")
    axes.set_title("All-reduce on eight A100s, and NCCL's own model of it")
    axes.grid()
