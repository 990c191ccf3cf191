"""Explorers that play: the last control is a step, and buttons play it, back and forward."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import ipywidgets

from course_lib.widgets.controls import Play, explain, step_player
from course_lib.widgets.explorer import Explorer, Part

__all__ = ["SteppedExplorer"]


class SteppedExplorer(Explorer):
    """An explorer whose last control is a step. Where there is nothing to play, the step rests at 0.

    Args:
        pictures, controls: as an explorer's; `pictures` takes a `step`, too.
        step: where it stands at first, if there are so many.

    Attributes:
        rests: why the step rests, where it does.
    """

    rests: ClassVar[str] = "nothing moves here"

    def __init__(
        self, pictures: Callable[..., Part | Sequence[Part]], *, step: int, **controls: ipywidgets.Widget
    ) -> None:
        self.step_slider, self.player = step_player(max(step, 1), step)
        self._wanted_step: int | None = step
        self._stood_still = False
        super().__init__(pictures, **controls, step=self.step_slider)

    def steps(self, values: dict[str, Any]) -> int:
        """How many steps there are where the controls stand; 0 where there is nothing to play."""
        raise NotImplementedError

    def opens(self, values: dict[str, Any]) -> dict[str, Any]:
        """The controls that the first step moves, where the picture that moves is not shown yet: to what shows it."""
        return {}

    def prepare(self) -> None:
        """Let the steps be those of the setting, and the first of them open what moves."""
        steps = self.steps(self.values)
        explain(self.step_slider, steps < 1, self.rests)
        for part in self.player[1:]:
            part.disabled = steps < 1
        self.step_slider.max = max(steps, 1)
        if self._wanted_step is not None:  # where the author wants it, now that the steps are known
            self.step_slider.value, self._wanted_step = min(self._wanted_step, max(steps, 1)), None
        opens = self.opens(self.values)
        if steps and opens and self._stood_still and self.step_slider.value:
            for name, value in opens.items():
                self.controls[name].value = value
        elif steps < 1 or (opens and self.step_slider.value):
            self._rest()
        self._stood_still = not self.step_slider.value and bool(opens)

    def _rest(self) -> None:
        self.step_slider.value = 0
        for part in self.player[1:]:
            if isinstance(part, Play) and part.moves:
                part.end()
