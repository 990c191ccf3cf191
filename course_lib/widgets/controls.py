"""Sliders, menus and bits to press, with names, units and room for their labels. All work from the keyboard."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from numbers import Integral, Real
from typing import Any, TypeVar

import ipywidgets
import traitlets

from course_lib.draw.units import format_bytes, format_rate, format_seconds, one_two_five

Control = TypeVar("Control", bound=ipywidgets.Widget)
_LOOK: Any = {"style": {"description_width": "8.4em"}, "layout": {"width": "auto"}}


def number(label: str, low: int, high: int, value: int) -> ipywidgets.IntSlider:
    """A slider over whole numbers."""
    slider = ipywidgets.IntSlider(low, low, high, description=label, **_LOOK)
    return _at(slider, value)


def menu(label: str, options: Mapping[str, Any] | Iterable[Any], value: Any) -> ipywidgets.Dropdown:
    """A menu of names, or of name -> value."""
    entries = list(options.items()) if isinstance(options, Mapping) else list(options)
    return _at(ipywidgets.Dropdown(options=entries, description=label, **_LOOK), value)


def scale(
    label: str,
    values: Iterable[Any],
    value: Any,
    show: Callable[[Any], str] = str,
    *,
    only: bool = False,
    beyond: bool = False,
) -> ipywidgets.SelectionSlider:
    """A slider over given values, each shown in words; a number between two of them is offered beside them.

    Raises:
        ValueError: if `value` is outside the ends (allowed with `beyond`), or no whole number where all are, or with
            `only` not among them.
    """
    values = list(values)
    if value not in values:
        if only or not (_fits_between(value, values) or (beyond and _is_number(value))):
            raise ValueError(f"{label} must be {_range_of(values, show, only)}, got {value!r}")
        values = sorted([*values, value])
    options = [(show(choice), choice) for choice in values]
    slider = ipywidgets.SelectionSlider(options=options, value=value, description=label, **_LOOK)
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
    return scale(label, one_two_five(low, high), value, format_rate, beyond=True)


_PLAYING = "playing" if ipywidgets.Play.class_traits().get("playing") else "_playing"  # its name in ipywidgets 7


class Play(ipywidgets.Play):
    """Moves a slider from step to step. The page sends each step; one that was on its way when playing was ended from
    here no longer counts."""

    value: int

    def __init__(self, slider: ipywidgets.IntSlider) -> None:
        look = {"interval": 700, "show_repeat": False, "tooltip": "play the steps"}
        super().__init__(min=slider.min, max=slider.max, value=slider.value, **look)
        self._slider, self._ended = slider, False
        self.observe(self._started, names=_PLAYING)
        self.observe(self._played, names="value")
        slider.observe(lambda change: setattr(self, "max", change["new"]), names="max")
        slider.observe(lambda change: setattr(self, "value", change["new"]), names="value")

    @property
    def moves(self) -> bool:
        """Whether it is playing now."""
        return bool(getattr(self, _PLAYING))

    def end(self) -> None:
        """Play no further."""
        setattr(self, _PLAYING, False)
        self._ended = True

    def _started(self, change: Any) -> None:
        self._ended = self._ended and not change["new"]

    def _played(self, _: Any) -> None:
        if self._ended and self.value > self.min:
            self.value = self._slider.value
        else:
            self._slider.value = self.value


def step_slider(label: str, value: int, steps: int = 0) -> ipywidgets.IntSlider:
    """A slider over steps, from 0 to as many as are known; `step_player` makes the buttons that move it.

    Raises:
        ValueError: if `value` is no whole number.
    """
    if not _is_whole(value):
        raise ValueError(f"{label} must be a whole number, got {value!r}")
    steps = max(steps, value, 1)
    return ipywidgets.IntSlider(value, 0, steps, description=label, **_LOOK)


def step_player(slider: ipywidgets.IntSlider) -> list[ipywidgets.Widget]:
    """To be shown in a row: a slider over steps, and what moves it: play, back, forward."""
    play = Play(slider)
    back = ipywidgets.Button(description="back", tooltip="one step back", layout={"width": "4.5em"})
    forward = ipywidgets.Button(description="step", tooltip="one step on", layout={"width": "4.5em"})
    back.on_click(lambda _: setattr(slider, "value", max(slider.value - 1, 0)))
    forward.on_click(lambda _: setattr(slider, "value", min(slider.value + 1, slider.max)))
    return [slider, play, back, forward]


_FIELDS = ("sign", "exponent", "mantissa")


class Bits(ipywidgets.VBox):
    """Buttons for the bits of a number, the sign first.

    Attributes:
        value: the bits as a text of "0" and "1".
        disabled: whether they cannot be pressed.
    """

    value = traitlets.Unicode()
    description = traitlets.Unicode("bits")
    disabled = traitlets.Bool(False)

    def __init__(self, value: str, bits: int, exponent_bits: int, most: int = 16) -> None:
        self._buttons = [ipywidgets.ToggleButton(description="0") for _ in range(most)]
        for button in self._buttons:
            button.add_class("explorer-bit")
            button.observe(self._clicked, names="value")
            traitlets.dlink((self, "disabled"), (button, "disabled"))
        row = ipywidgets.Box(self._buttons)
        row.add_class("explorer-bits")
        super().__init__([ipywidgets.Label("bits"), row])
        self.value = value
        self.read_as(bits, exponent_bits)
        self.observe(lambda _: self._show(), names="value")

    def read_as(self, bits: int, exponent_bits: int) -> None:
        """Name each bit by what it means in a format of so many; bits too many go, missing ones are 0."""
        for place, button in enumerate(self._buttons):
            button.layout.display = "" if place < bits else "none"
            field, meaning = _meaning(exponent_bits, place)
            if button.tooltip != meaning:
                button.tooltip = meaning
                for name in _FIELDS:
                    (button.add_class if name == field else button.remove_class)(f"explorer-{name}")
        self.value = fit_bits(self.value, bits)
        self._show()

    def _clicked(self, change: Any) -> None:
        change["owner"].description = "1" if change["new"] else "0"
        self.value = "".join("1" if button.value else "0" for button in self._buttons)[: len(self.value)]

    def _show(self) -> None:
        """Press the buttons of the ones, which then do not count as clicked."""
        for place, button in enumerate(self._buttons):
            button.unobserve(self._clicked, names="value")
            button.value = self.value[place : place + 1] == "1"
            button.description = "1" if button.value else "0"
            button.observe(self._clicked, names="value")


def fit_bits(bits: str, count: int) -> str:
    """The first `count` bits; zeros where there are fewer.

    >>> fit_bits("0011111000000000", 8), fit_bits("00111110", 16)
    ('00111110', '0011111000000000')
    """
    return bits[:count].ljust(count, "0")


def _meaning(exponent_bits: int, place: int) -> tuple[str, str]:
    """The field of a bit, and what a 1 in it is worth."""
    if place == 0:
        return "sign", "sign: minus"
    if place <= exponent_bits:
        return "exponent", f"exponent: {2 ** (exponent_bits - place)}"
    return "mantissa", f"mantissa: 1/{2 ** (place - exponent_bits)}"


def offer(
    control: ipywidgets.Dropdown | ipywidgets.SelectionSlider, options: Mapping[str, Any], value: Any = None
) -> None:
    """Let a menu or a slider offer these options and choose this value; without one it keeps its own, or takes the
    first where that is no longer among them."""
    with control.hold_sync():  # in one message: a slider whose place is beyond fewer options would answer with the last
        if dict(control.options) != dict(options):
            kept = control.value if control.value in options.values() else next(iter(options.values()))
            value = kept if value is None else value
            control.options = list(options.items())
        if value is not None:
            control.value = value


def disable(control: ipywidgets.Widget, when: bool, reason: str) -> None:
    """Disable a control, or enable it; the reason is its tooltip, which is read out, too."""
    control.disabled, control.tooltip = when, reason if when else None


def nearest(value: float, values: Iterable[float]) -> float:
    """The value among several that differs from this one by the least factor.

    >>> nearest(20, [8, 16, 32]), nearest(16, [8, 16, 32])
    (16, 16)
    """
    return min(values, key=lambda other: abs(math.log(other / value)))


def shown_value(control: ipywidgets.Widget) -> str:
    """A control's value as the reader sees it."""
    options, index = getattr(control, "options", None), getattr(control, "index", None)
    if options and index is not None:
        option = options[index]
        return str(option[0] if isinstance(option, tuple) else option)
    return str(control.value)


def state(control: ipywidgets.Widget) -> dict[str, Any]:
    """What brings a control back to where it stands now; its value comes last."""
    return {trait: getattr(control, trait) for trait in ("options", "min", "max", "value") if control.has_trait(trait)}


def put_back(control: ipywidgets.Widget, state: Mapping[str, Any]) -> None:
    """Bring a control back to where it stood; its ends never cross on the way."""
    if "min" in state:
        control.min = min(control.min, state["min"])
    for trait in ("options", "max", "min", "value"):
        if trait in state and getattr(control, trait) != state[trait]:
            setattr(control, trait, state[trait])


def offered(control: ipywidgets.Widget) -> dict[Any, str]:
    """The values that a menu or a slider offers now, each as the reader sees it.

    >>> offered(scale("batch", [1, 2, 4], 2, lambda n: f"{n} images"))
    {1: '1 images', 2: '2 images', 4: '4 images'}
    >>> offered(number("ranks", 2, 4, 3))
    {2: '2', 3: '3', 4: '4'}
    """
    if hasattr(control, "options"):
        pairs = [option if isinstance(option, tuple) else (str(option), option) for option in control.options]
        return {value: name for name, value in pairs}
    if hasattr(control, "max"):
        return {value: str(value) for value in range(control.min, control.max + 1, control.step)}
    return {control.value: str(control.value)}


def others_than(asked: Mapping[str, Any], controls: Mapping[str, ipywidgets.Widget]) -> list[str]:
    """Sentences about controls that stand elsewhere than where they were asked to, for the sake of the others."""
    return [
        f"{control.description}: {asked[name]} is not possible here, {shown_value(control)} stands in its place."
        for name, control in controls.items()
        if name in asked and asked[name] != control.value
    ]


def rule_against(controls: Mapping[str, ipywidgets.Widget], name: str, value: Any) -> str:
    """Why the control of this name cannot say this; nothing if it can.

    >>> rule_against({"p": number("ranks", 2, 16, 4)}, "p", 99)
    'ranks must be a whole number from 2 to 16, got 99'
    >>> rule_against({"p": menu("overlap", {"yes": True, "no": False}, True)}, "p", "no")
    "overlap must be one of True, False, got 'no'"
    """
    if name not in controls:
        return f"the controls are {', '.join(controls)}, got {name!r}"
    rule = _rule_of(controls[name], value)
    return f"{controls[name].description} must be {rule}, got {value!r}" if rule else ""


def _rule_of(control: ipywidgets.Widget, value: Any) -> str:
    """What a control's value must be where this is none; True is no number."""
    if hasattr(control, "options"):
        values = [option[1] if isinstance(option, tuple) else option for option in control.options]
        alike = [each for each in values if type(each) is type(value) or (_is_number(each) and _is_number(value))]
        return "" if any(each is value or each == value for each in alike) else _range_of(values, repr, only=True)
    if hasattr(control, "max"):
        inside = isinstance(value, Integral) and _is_number(value) and control.min <= value <= control.max
        return "" if inside else f"a whole number from {control.min} to {control.max}"
    return "" if isinstance(value, type(control.value)) else f"of type {type(control.value).__name__}"


def _at(control: Control, value: Any) -> Control:
    """The control where it is to stand at first."""
    if rule := rule_against({"": control}, "", value):
        raise ValueError(rule)
    control.value = value
    return control


def _range_of(values: list[Any], show: Callable[[Any], str], only: bool) -> str:
    """What a value may be, in words."""
    if only:
        return f"one of {', '.join(map(show, values))}"
    return f"{'a whole number ' * _are_whole(values)}from {show(values[0])} to {show(values[-1])}"


def _fits_between(value: Any, values: list[Any]) -> bool:
    """Whether a number lies between the first and the last value, and is a whole one where all are."""
    if not (_is_number(value) and all(map(_is_number, values))):
        return False
    return values[0] <= value <= values[-1] and (isinstance(value, Integral) or not _are_whole(values))


def _is_number(value: Any) -> bool:
    return not isinstance(value, bool) and isinstance(value, Real) and value == value  # a nan is none


def _is_whole(value: Any) -> bool:
    return not isinstance(value, bool) and isinstance(value, Integral)


def _are_whole(values: list[Any]) -> bool:
    return all(isinstance(value, Integral) for value in values)
