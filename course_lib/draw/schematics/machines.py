"""The hardware and one training step on it, as boxes and arrows."""

from __future__ import annotations

from matplotlib.axes import Axes

from course_lib.draw.schematics.blocks import arrow, block, caption, empty, frame
from course_lib.draw.style import COLORS, FILLS, PAGE_IN, Picture, finish, new_picture, styled

__all__ = ["draw_machines", "draw_training_step"]

_DEVICE = COLORS["blue"]


@styled
def draw_machines() -> Picture:
    """One device, several devices in one machine, several machines, and what joins them."""
    picture, (one, several, machines) = new_picture(PAGE_IN, 2.3, 1, 3, width_ratios=(1, 1.25, 2.2))
    for axes, width, title in (
        (one, 2.0, "One device"),
        (several, 2.5, "One machine"),
        (machines, 4.6, "Several machines"),
    ):
        empty(axes, width, 3.4)
        axes.set_title(title)
    block(one, 0.6, 1.5, 0.8, 0.8, _DEVICE, "device")
    caption(one, 1.0, 0.35, "no messages")
    _machine(several, 0.3)
    caption(several, 1.25, 0.35, "fast links inside")
    for x in (0.1, 2.6):
        _machine(machines, x)
    arrow(machines, (2.04, 1.75), (2.56, 1.75), both=True)
    caption(machines, 2.3, 0.35, "one slower port out of each machine, shared by its devices")
    alt = (
        "One device; one machine with four devices joined by fast links; two such machines joined by one slower link. "
        "Inside a machine every device reaches every other directly, between machines all share one port."
    )
    return finish(picture, origin="schematic", alt=alt)


@styled
def draw_training_step() -> Picture:
    """One training step and its three parts: forward, backward, update."""
    picture, axes = new_picture(PAGE_IN, 2.0)
    empty(axes, 12.6, 3.1)
    parts = (
        ("forward", "predict, compare:\nthe loss", "batch, weights", FILLS["passes"]["forward"].color),
        ("backward", "how the loss changes\nwith each weight", "activations", FILLS["passes"]["backward"].color),
        ("update", "move the weights\na little downhill", "gradients", FILLS["passes"]["update"].color),
    )
    for place, (name, what, needs, color) in enumerate(parts):
        x = 0.8 + 4.1 * place
        block(axes, x, 1.15, 2.9, 0.6, color, name, 11)
        caption(axes, x + 1.45, 0.55, what)
        caption(axes, x - 0.6 if place else x - 0.35, 2.05, needs, ha="center" if place else "left")
        if place:
            arrow(axes, (x - 1.15, 1.45), (x - 0.05, 1.45))
    axes.plot([11.95, 12.3, 12.3, 0.3, 0.3, 0.7], [1.45, 1.45, 2.65, 2.65, 1.45, 1.45], color="#1f1f1f", linewidth=1.4)
    arrow(axes, (0.5, 1.45), (0.78, 1.45))
    caption(axes, 6.3, 2.88, "new weights, next batch")
    alt = (
        "One training step as a loop of three parts: the forward pass turns batch and weights into a loss, "
        "the backward pass turns the stored activations into gradients, the update turns gradients into new weights, "
        "and the next batch begins."
    )
    return finish(picture, origin="schematic", alt=alt)


def _machine(axes: Axes, x: float) -> None:
    """Four devices, every pair joined, in one frame."""
    frame(axes, x, 0.7, 1.9, 2.15, "machine")
    corners = [(x + 0.2, 1.75), (x + 1.1, 1.75), (x + 0.2, 0.85), (x + 1.1, 0.85)]
    centers = [(a + 0.3, b + 0.3) for a, b in corners]
    for number, start in enumerate(centers):
        for end in centers[number + 1 :]:
            axes.plot(*zip(start, end, strict=True), color=COLORS["orange"], linewidth=2, zorder=0.5)
    for number, (a, b) in enumerate(corners):
        block(axes, a, b, 0.6, 0.6, _DEVICE, str(number))
