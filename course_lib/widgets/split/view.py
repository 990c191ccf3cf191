"""The controls of the split explorer: a cut for each layer of AlexNet, the batch and the ranks."""

from __future__ import annotations

from typing import Any, ClassVar

from course_lib.model_parallel import ALEXNET
from course_lib.widgets.controls import menu, scale
from course_lib.widgets.explorer import Explorer
from course_lib.widgets.split.model import BATCHES, CUTS, SplitSetting
from course_lib.widgets.split.panels import pictures

__all__ = ["SplitExplorer"]

_LAYERS = [layer.name for layer in ALEXNET]


class SplitExplorer(Explorer):
    """AlexNet with a cut for each layer: what a rank sends in a step, layer by layer and by batch, and what it holds.

    Everything is computed by `plan_bytes`: rings, 4 bytes a number, and what changes of the cut cost.

    Args:
        by_outputs: names of the layers that are cut by outputs at first; all others are cut by examples.
        batch, world_size: where the other controls stand at first; `batch` is that of all ranks.

    Raises:
        ValueError: if AlexNet has no such layer.
    """

    moves: ClassVar = {
        "conv1": None,
        "fc6": None,
        "fc7": None,
        "fc8": None,
        "batch": [4, 128, 1024, 2048, 3500],
        "world_size": [8, 64],
    }

    def __init__(self, *, by_outputs: tuple[str, ...] = (), batch: int = 1024, world_size: int = 8) -> None:
        if unknown := set(by_outputs) - set(_LAYERS):
            raise ValueError(
                f"by_outputs must name layers among {', '.join(_LAYERS)}, got {', '.join(sorted(unknown))}"
            )
        names = list(CUTS)
        super().__init__(
            _pictures,
            **{layer: menu(layer, names, names[layer in by_outputs]) for layer in _LAYERS},
            batch=scale("pictures", BATCHES, batch, lambda count: f"{count:,}"),
            world_size=scale("ranks", (1, 2, 3, 4, 8, 16, 64), world_size),
        )


def _pictures(*, batch: int, world_size: int, **cuts: Any) -> Any:
    return pictures(SplitSetting(tuple(cuts[layer] for layer in _LAYERS), batch, world_size))
