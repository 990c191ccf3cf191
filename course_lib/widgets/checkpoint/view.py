"""The checkpoint explorer: a graph, a strategy and a budget, and the plan to be played; or a plan of one's own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from course_lib.checkpointing import Action, PlanError, read_plan
from course_lib.widgets.checkpoint.model import BEST, OWN, SIZES, STRATEGIES, CheckpointSetting, moments_of
from course_lib.widgets.checkpoint.panels import pictures
from course_lib.widgets.controls import explain, menu, number
from course_lib.widgets.stepped import SteppedExplorer

__all__ = ["CheckpointExplorer"]


class CheckpointExplorer(SteppedExplorer):
    """A plan of checkpointing to play: what is alive, what is recomputed, and how it stands among all strategies.

    Every layer takes one unit of time and every value one of memory, the input too. All is computed by `play_plan`;
    the best plans are those by cuts.

    Args:
        own: a plan of your own for the graph, as actions or as words ("store 1, back 1"); it stands in the menu as
            "your own". Nodes of a chain are 1, 2, …; of a residual network 1a, 1b, 1, 2a, …; of a U-Net down0, …,
            bottom, …, up0; of a tree root, root0, root1, root00, ….
        graph, size, strategy, budget, step: where the controls stand at first. `size` counts layers, blocks, levels;
            a size that a graph does not have becomes the nearest that it has.
    """

    moves: ClassVar = {"strategy": None, "budget": [3, 4, 5, 6, 8], "step": None}

    def __init__(
        self,
        own: Sequence[Action] | str | None = None,
        *,
        graph: str = "chain",
        size: int = 10,
        strategy: str = BEST,
        budget: int = 5,
        step: int = 1,
    ) -> None:
        self._own = None if own is None else tuple(read_plan(own) if isinstance(own, str) else own)
        names = [*STRATEGIES] if own is None else [*STRATEGIES, OWN]
        super().__init__(
            lambda **values: pictures(CheckpointSetting(**values, own=self._own)),
            graph=menu("graph", list(SIZES), graph),
            size=number("size", 1, max(high for _, high in SIZES.values()), size),
            strategy=menu("strategy", names, strategy if own is None else OWN),
            budget=number("budget", 1, 24, budget),
            step=step,
        )

    def prepare(self) -> None:
        """Let sizes be those of the graph, and steps those of the plan; only the best plan asks for a budget."""
        controls = self.controls
        low, high = SIZES[controls["graph"].value]
        controls["size"].min, controls["size"].max = low, high
        explain(controls["budget"], controls["strategy"].value != BEST, "only the best plan has a budget")
        super().prepare()

    def steps(self, values: dict[str, Any]) -> int:
        """The actions of the plan."""
        try:
            return max(len(moments_of(CheckpointSetting(**values, own=self._own).fitting)), 1)
        except PlanError:
            return 1
