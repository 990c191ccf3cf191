"""The precision explorer: bits to press, a format, a network's gradients and a loss scale."""

from __future__ import annotations

from typing import Any, ClassVar

import torch

from course_lib.widgets.controls import explain, menu, scale
from course_lib.widgets.precision.bits import Bits
from course_lib.widgets.precision.model import CLICKABLE, NETWORKS, PrecisionSetting, of_network, sort_gradients
from course_lib.widgets.precision.panels import SCALES, pictures
from course_lib.widgets.precision.rounds import STEPS, VALUES
from course_lib.widgets.stepped import SteppedExplorer

__all__ = ["PrecisionExplorer"]

_YOURS = "network of yours"


class PrecisionExplorer(SteppedExplorer):
    """The bits of a number with its neighbors, and what a format makes of a network's gradients at each loss scale;
    or a number that is rounded, to be played.

    Numbers and their spacing are computed from the format's definition; gradients are those of all activations in one
    backward pass through a network.

    Args:
        gradients: of yours; they are then in the menu, and chosen.
        number_format, bits, network, loss_scale: where the controls stand at first; `bits` is a text of "0" and "1".
        rounded, step: the name of the number that is rounded, or "", and how far it is.
    """

    moves: ClassVar = {
        "number_format": None,
        "bits": ["0011111000000000", "0000000000000001", "0111101111111111", "0111110000000000", "1011110000000000"],
        "network": None,
        "loss_scale": [1.0, 2.0**3, 2.0**10, 2.0**16, 2.0**17, 2.0**18, 2.0**30, 2.0**31],
        "rounded": None,
        "step": None,
    }

    def __init__(
        self,
        gradients: torch.Tensor | None = None,
        *,
        number_format: str = "fp16",
        bits: str = "0011111000000000",
        network: str = NETWORKS[0],
        loss_scale: float = 1.0,
        rounded: str = "",
        step: int = 0,
    ) -> None:
        own = {} if gradients is None else {_YOURS: sort_gradients(gradients)}
        names = [*own, *NETWORKS]
        self._start = {"network": names[0] if own else network, "loss_scale": loss_scale, "bits": bits}
        self._bits = Bits(CLICKABLE[number_format], bits)
        super().__init__(
            lambda number_format, bits, network, loss_scale, rounded, step: pictures(
                PrecisionSetting(
                    CLICKABLE[number_format],
                    bits,
                    own.get(network) or of_network(network),
                    network,
                    loss_scale,
                    rounded,
                    step,
                )
            ),
            number_format=menu("format", list(CLICKABLE), number_format),
            rounded=menu("round", {"nothing": "", **{name: name for name in VALUES}}, rounded),
            bits=self._bits,
            network=menu("gradients of", names, names[0] if own else network),
            loss_scale=scale(
                "loss scale", SCALES, loss_scale, lambda x: f"{x:g}" if x <= 1024 else f"{x:,.0f}", only=True
            ),
            step=step,
        )

    def prepare(self) -> None:
        """The same bits, read in the chosen format. A number that is rounded needs none, and no gradients."""
        super().prepare()
        rounded = bool(self.controls["rounded"].value)
        for name, value in self._start.items():
            explain(self.controls[name], rounded, "the number that is rounded does not depend on it")
            if rounded:
                self.controls[name].value = value
        self._bits.read_as(CLICKABLE[self.controls["number_format"].value])

    def steps(self, values: dict[str, Any]) -> int:
        """Of rounding."""
        return STEPS

    def opens(self, values: dict[str, Any]) -> dict[str, Any]:
        """A number that is rounded is what moves."""
        return {} if values["rounded"] else {"rounded": next(iter(VALUES))}
