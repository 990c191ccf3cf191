"""A control of bits: one button each, which stays pressed for a 1."""

from __future__ import annotations

from typing import Any

import ipywidgets
import traitlets

from course_lib.precision import FloatFormat

__all__ = ["Bits", "fit_bits"]

_FIELDS = ("sign", "exponent", "mantissa")


class Bits(ipywidgets.VBox):
    """Buttons for the bits of a number, the sign first.

    Attributes:
        value: the bits as a text of "0" and "1".
        disabled: whether they rest.
    """

    value = traitlets.Unicode()
    description = traitlets.Unicode("bits")
    disabled = traitlets.Bool(False)

    def __init__(self, number_format: FloatFormat, value: str, most: int = 16) -> None:
        self._buttons = [ipywidgets.ToggleButton(description="0") for _ in range(most)]
        for button in self._buttons:
            button.add_class("explorer-bit")
            button.observe(self._clicked, names="value")
            traitlets.dlink((self, "disabled"), (button, "disabled"))
        row = ipywidgets.Box(self._buttons)
        row.add_class("explorer-bits")
        super().__init__([ipywidgets.Label("bits"), row])
        self.value = value
        self.read_as(number_format)
        self.observe(lambda _: self._show(), names="value")

    def read_as(self, number_format: FloatFormat) -> None:
        """Name each bit by what it means in this format; bits too many go, missing ones are 0."""
        for place, button in enumerate(self._buttons):
            button.layout.display = "" if place < number_format.bits else "none"
            field, meaning = _meaning(number_format, place)
            if button.tooltip != meaning:
                button.tooltip = meaning
                for name in _FIELDS:
                    (button.add_class if name == field else button.remove_class)(f"explorer-{name}")
        self.value = fit_bits(self.value, number_format.bits)
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


def _meaning(number_format: FloatFormat, place: int) -> tuple[str, str]:
    """The field of a bit, and what a 1 in it is worth."""
    if place == 0:
        return "sign", "sign: minus"
    if place <= number_format.exponent_bits:
        return "exponent", f"exponent: {2 ** (number_format.exponent_bits - place)}"
    return "mantissa", f"mantissa: 1/{2 ** (place - number_format.exponent_bits)}"
