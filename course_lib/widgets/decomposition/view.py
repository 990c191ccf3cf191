"""The decomposition explorer: which tensor, how many modes, which error or rank, and whose picture to show."""

from __future__ import annotations

from typing import Any, ClassVar

import torch

from course_lib.widgets.controls import explain, menu, number, scale
from course_lib.widgets.decomposition.model import CUTS, CUTTING, FORMATS, LAYER, SIDE, TENSORS, DecompositionSetting
from course_lib.widgets.decomposition.panels import pictures
from course_lib.widgets.stepped import SteppedExplorer

__all__ = ["DecompositionExplorer"]

_ERRORS = [0.0, 1e-6, 1e-4, 1e-3, 0.01, 0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5]


class DecompositionExplorer(SteppedExplorer):
    """4,096 numbers as a tensor of 2 to 12 modes: what two thin matrices, Tucker and a tensor train keep of it, and
    store; or TT-SVD, cut by cut, which play opens.

    The two thin matrices are the SVD of the square that is shown, so they are the same for any number of modes.

    Args:
        tensor, modes, limit, relative_error, rank, shown, step: where the controls stand at first; `limit` is "error"
            or "rank".
        own: a 64 × 64 matrix of your own, offered beside the others and chosen at first.

    Raises:
        ValueError: if your own is not of 64 × 64 finite numbers.
    """

    moves: ClassVar = {
        "tensor": None,
        "shown": None,
        "relative_error": [0.1, 0.3],
        "modes": [2, 3, 6, 12],
        "step": None,
    }

    def __init__(
        self,
        *,
        tensor: str = LAYER,
        modes: int = 3,
        limit: str = "error",
        relative_error: float = 0.3,
        rank: int = 4,
        shown: str = "tensor train",
        own: torch.Tensor | None = None,
        step: int = 0,
    ) -> None:
        if own is not None and (tuple(own.shape) != (SIDE, SIDE) or not torch.isfinite(own.double()).all()):
            raise ValueError(f"your own must be {SIDE} × {SIDE} finite numbers, got shape {tuple(own.shape)}")
        names, first = (TENSORS, tensor) if own is None else ((*TENSORS, "own"), "own")
        super().__init__(
            lambda **values: pictures(DecompositionSetting(**values, own=own)),
            tensor=menu("tensor", names, first),
            shown=menu("shown", [*FORMATS, CUTTING], shown),
            limit=menu("limit", {"relative error": "error", "largest rank": "rank"}, limit),
            relative_error=scale("relative error", _ERRORS, relative_error, lambda error: f"{error:g}"),
            rank=number("largest rank", 1, 32, rank),
            modes=scale("modes", CUTS, modes, only=True),
            step=step,
        )

    def prepare(self) -> None:
        """Only one of the two limits counts; the other rests."""
        by_error = self.controls["limit"].value == "error"
        explain(self.controls["relative_error"], not by_error, "the limit is a rank")
        explain(self.controls["rank"], by_error, "the limit is an error")
        super().prepare()

    def steps(self, values: dict[str, Any]) -> int:
        """A cut between every two modes."""
        return values["modes"] - 1

    def opens(self, values: dict[str, Any]) -> dict[str, Any]:
        """The cuts are what moves."""
        return {} if values["shown"] == CUTTING else {"shown": CUTTING}
