"""Sliders and menus with names, units and room for their labels. All of them work from the keyboard."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import ipywidgets

from course_lib.draw.units import format_bytes, format_rate, format_seconds, one_two_five

__all__ = [
    "bytes_slider",
    "explain",
    "menu",
    "nearest",
    "number",
    "offer",
    "rate_slider",
    "scale",
    "seconds_slider",
    "step_player",
]

_LOOK: Any = {"style": {"description_width": "8.4em"}, "layout": {"width": "auto"}}


def number(label: str, low: int, high: int, value: int) -> ipywidgets.IntSlider:
    """A slider over whole numbers."""
    return ipywidgets.IntSlider(value, low, high, description=label, **_LOOK)


def menu(label: str, options: Mapping[str, Any] | Iterable[Any], value: Any) -> ipywidgets.Dropdown:
    """A menu of names, or of name -> value."""
    entries = list(options.items()) if isinstance(options, Mapping) else list(options)
    return ipywidgets.Dropdown(options=entries, value=value, description=label, **_LOOK)


def scale(
    label: str, values: Iterable[Any], value: Any, show: Callable[[Any], str] = str
) -> ipywidgets.SelectionSlider:
    """A slider over given values, each shown in words; it starts at the one nearest to `value`."""
    values = list(values)
    options = [(show(choice), choice) for choice in values]
    slider = ipywidgets.SelectionSlider(options=options, value=nearest(value, values), description=label, **_LOOK)
    slider.add_class("explorer-choices")
    return slider


def bytes_slider(label: str, value: int, low: int = 1_000, high: int = 10**9) -> ipywidgets.SelectionSlider:
    """A slider over 1, 2, 5, 10, ... from `low` to `high` bytes."""
    return scale(label, [int(size) for size in one_two_five(low, high)], value, format_bytes)


def seconds_slider(label: str, value: float, low: float = 1e-6, high: float = 1e-2) -> ipywidgets.SelectionSlider:
    """A slider over 1, 2, 5, 10, ... from `low` to `high` seconds."""
    return scale(label, one_two_five(low, high), value, format_seconds)


def rate_slider(label: str, value: float, low: float = 1e7, high: float = 5e11) -> ipywidgets.SelectionSlider:
    """A slider over 1, 2, 5, 10, ... from `low` to `high` bytes per second; `value` itself is among them."""
    return scale(label, sorted({*one_two_five(low, high), value}), value, format_rate)


def step_player(steps: int, step: int) -> tuple[ipywidgets.IntSlider, list[ipywidgets.Widget]]:
    """A slider over steps and, to be shown in a row, itself and what moves it: play, back, forward."""
    slider = ipywidgets.IntSlider(min(step, steps), 0, steps, description="step", **_LOOK)
    play = ipywidgets.Play(
        min=0, max=steps, interval=700, value=slider.value, show_repeat=False, tooltip="play the steps"
    )
    ipywidgets.jslink((play, "value"), (slider, "value"))
    ipywidgets.jslink((slider, "max"), (play, "max"))
    back = ipywidgets.Button(description="back", tooltip="one step back", layout={"width": "4.5em"})
    forward = ipywidgets.Button(description="step", tooltip="one step on", layout={"width": "4.5em"})
    back.on_click(lambda _: setattr(slider, "value", max(slider.value - 1, 0)))
    forward.on_click(lambda _: setattr(slider, "value", min(slider.value + 1, slider.max)))
    return slider, [slider, play, back, forward]


def offer(control: ipywidgets.Dropdown, options: dict[str, int]) -> None:
    """Let a menu offer these options; a choice that is no longer among them becomes the first."""
    if len(control.options) != len(options):
        kept = control.value if control.value in options.values() else next(iter(options.values()))
        control.options = list(options.items())
        control.value = kept


def explain(control: ipywidgets.Widget, off: bool, reason: str) -> None:
    """Let a control rest or not; the reason stands where the pointer rests on it and is read out."""
    control.disabled, control.tooltip = off, reason if off else None


def nearest(value: Any, values: list[Any]) -> Any:
    """The value itself if it is among the values, else the one nearest to it on a logarithmic scale.

    >>> nearest(3000, [1000, 2000, 5000])
    2000
    """
    if value in values:
        return value
    return min(values, key=lambda other: abs(other / value - 1) if value else abs(other))
