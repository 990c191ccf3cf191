"""The pictures of chapter 00: machines, one training step and its seconds, ways to share it, the course's map."""

from __future__ import annotations

from collections.abc import Mapping

from matplotlib.axes import Axes

from course_lib.draw.colors import COLORS, FILLS, GROUNDS, INK
from course_lib.draw.panels import Bars, axis
from course_lib.draw.panels.picture import picture_of
from course_lib.draw.style import PAGE_IN, Picture, arrow, block, caption, empty, finish, frame, new_picture, styled

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


def draw_step_seconds(
    plans: Mapping[str, tuple[float, float]],
    *,
    wanted: float = 2.5,
    until: float = 21.0,
    origin: str = "computed, simulated",
    title: str = "",
) -> Picture:
    """A bar for each plan, the seconds of one step: work, and waiting for messages; a dashed line at the wanted ones.

    Args:
        plans: plan -> (seconds of work, seconds of waiting).
        until: where the axis ends, if no bar is longer, so that pictures with more bars can be compared.

    Raises:
        ValueError: if there is no plan.

    >>> draw_step_seconds({"one machine": (20, 0), "eight machines": (2.5, 17.9)}).alt
    'Seconds of a step, wanted 2.5: one machine 20, eight machines 20.4 (waiting 17.9). (computed, simulated)'
    """
    if not plans:
        raise ValueError("there must be a plan to draw, got none")
    panel = Bars(
        title=title or "Seconds of a step",
        origin=origin,
        bars={name: dict(zip(_STEP, parts, strict=True)) for name, parts in plans.items()},
        axis=axis("seconds of a step", [until, *map(sum, plans.values())]),
        colors=_STEP,
        limits={f"wanted: {wanted:g}": wanted},
        show=lambda seconds: f"{_tenths(seconds)} s",
        wide=True,
        row_px=32.0,
        grid=True,
    )
    words = [
        f"{name} {_tenths(work + waiting)}" + (f" (waiting {_tenths(waiting)})" if waiting else "")
        for name, (work, waiting) in plans.items()
    ]
    return picture_of([panel], alt=f"Seconds of a step, wanted {wanted:g}: {', '.join(words)}.")


_STEP = {"work": FILLS["what ranks do"]["work"].color, "waits for messages": COLORS["vermillion"]}


def _tenths(seconds: float) -> str:
    return f"{seconds:.1f}".removesuffix(".0")


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


_LAYERS = (COLORS["blue"], COLORS["sky"]) * 2
_DATA = COLORS["orange"]
_PITCH, _WIDTH = 1.25, 1.08  # of devices side by side
_PARALLELISM = (
    "Data, model and pipeline parallelism on {n} ranks with a model of {n} layers. Data parallelism: every rank holds "
    "all layers and works on its own part of the batch; the gradients are summed over all ranks. Model parallelism: "
    "every rank holds a slice of each layer and sees the whole batch; the partial results of each layer are summed. "
    "Pipeline parallelism: every rank holds one layer; micro-batches move from rank to rank."
)


@styled
def draw_parallelism(devices: int = 4) -> Picture:
    """Data, model and pipeline parallelism of a model with as many layers as devices.

    Raises:
        ValueError: unless there are 2 to 4 devices.
    """
    if not 2 <= devices <= 4:
        raise ValueError(f"the picture has room for 2 to 4 devices, got {devices}")
    picture, (data, model, pipeline) = new_picture(PAGE_IN, 2.7, 1, 3)
    for axes, title in ((data, "Data parallel"), (model, "Model (tensor) parallel"), (pipeline, "Pipeline parallel")):
        empty(axes, devices * _PITCH + 0.1, 4.05)
        axes.set_title(title)
    _draw_data(data, devices)
    _draw_model(model, devices)
    _draw_pipeline(pipeline, devices)
    note = "blue: the layers of the model; brown: the batch"
    return finish(picture, origin="schematic", alt=_PARALLELISM.format(n=devices), note=note)


def _draw_data(axes: Axes, devices: int) -> None:
    for device in range(devices):
        x = _device(axes, device)
        for layer in range(devices):
            block(axes, x + 0.1, 1.75 + 0.45 * layer, _WIDTH - 0.2, 0.4, _LAYERS[layer], str(layer + 1))
        block(axes, x + 0.1, 1.05, _WIDTH - 0.2, 0.45, _DATA, f"1/{devices}")
    _sum_bar(axes, devices, "sum of the gradients, once a step")


def _draw_model(axes: Axes, devices: int) -> None:
    for device in range(devices):
        x = _device(axes, device)
        for layer in range(devices):
            block(axes, x + 0.1, 1.75 + 0.45 * layer, _WIDTH - 0.2, 0.4, _LAYERS[layer], f"{layer + 1}{'abcd'[device]}")
        block(axes, x + 0.1, 1.05, _WIDTH - 0.2, 0.45, _DATA, "all")
    _sum_bar(axes, devices, "sum of partial results, in every layer")


def _draw_pipeline(axes: Axes, devices: int) -> None:
    for device in range(devices):
        x = _device(axes, device)
        block(axes, x + 0.1, 1.75, _WIDTH - 0.2, 0.45 * devices - 0.05, _LAYERS[device], str(device + 1), 11)
        block(axes, x + 0.1, 1.05, _WIDTH - 0.2, 0.45, _DATA, f"m{devices - device}")
        if device:
            arrow(axes, (x - _PITCH + _WIDTH - 0.05, 2.65), (x + 0.08, 2.65))
    caption(axes, devices * _PITCH / 2 + 0.05, 0.28, "micro-batches move from rank to rank")


def _device(axes: Axes, device: int) -> float:
    """Draw a device and return its left edge."""
    x = 0.1 + _PITCH * device
    frame(axes, x, 0.9, _WIDTH, 3.1, f"rank {device}")
    return x


def _sum_bar(axes: Axes, devices: int, text: str) -> None:
    """A line under the devices that joins them all."""
    for device in range(devices):
        arrow(axes, (0.1 + _WIDTH / 2 + _PITCH * device, 0.55), (0.1 + _WIDTH / 2 + _PITCH * device, 0.9), both=True)
    axes.plot(
        [0.1 + _WIDTH / 2, 0.1 + _WIDTH / 2 + _PITCH * (devices - 1)], [0.55, 0.55], color="#1f1f1f", linewidth=1.4
    )
    caption(axes, devices * _PITCH / 2 + 0.05, 0.28, text)


_TIMES = (("synchronous", "all wait for the slowest"), ("asynchronous", "nobody waits, gradients are stale"))
_PLACES = (
    ("decentralized", "everyone has a", "copy of the truth"),
    ("centralized", "a server holds", "the parameters"),
)
_TINTS = {"centralized": GROUNDS["orange"], "decentralized": GROUNDS["blue"]}


@styled
def draw_taxonomy(entries: Mapping[tuple[str, str], tuple[str, ...]], *, note: str = "") -> Picture:
    """Two by two: centralized or decentralized, synchronous or asynchronous, each with its methods.

    Args:
        entries: by (place, time), the methods that are there, one line each.
    """
    picture, axes = new_picture(7.4, 3.6)
    empty(axes, 10.6, 6.0)
    for row, place in enumerate(("decentralized", "centralized")):
        for column, time in enumerate(("synchronous", "asynchronous")):
            x, y = 1.6 + 4.5 * column, 0.2 + 2.6 * row
            block(axes, x, y, 4.4, 2.5, _TINTS[place])
            for line, text in enumerate(entries.get((place, time), ())):
                axes.text(x + 2.2, y + 1.75 - 0.55 * line, text, ha="center", va="center", fontsize=9.5, color=INK)
    for column, (time, meaning) in enumerate(_TIMES):
        caption(axes, 3.8 + 4.5 * column, 5.8, time, bold=True)
        caption(axes, 3.8 + 4.5 * column, 5.45, meaning)
    for y, (place, *lines) in zip((1.8, 4.4), _PLACES, strict=True):
        caption(axes, 0.75, y, place, bold=True)
        for line, text in enumerate(lines):
            caption(axes, 0.75, y - 0.36 - 0.33 * line, text)
    parts = [f"{place} and {time}: {', '.join(lines).replace(',,', ',')}" for (place, time), lines in entries.items()]
    return finish(
        picture, origin="schematic", alt="Table of four kinds of training. " + "; ".join(parts) + ".", note=note
    )
