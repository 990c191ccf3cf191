"""What the judge itself counts while an answer of chapter 7 runs: the text of these functions comes behind its cells.

So they import for themselves, and take no name that a notebook may have.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

__all__ = ["counting"]


def judges_counter(*names: str) -> Any:
    """A context: `alive` grows by a number whenever torch computes one of these, of how many results are alive then."""
    import weakref

    from torch.utils._python_dispatch import TorchDispatchMode

    class Counter(TorchDispatchMode):
        def __init__(self) -> None:
            super().__init__()
            self.results: list[weakref.ref] = []
            self.alive: list[int] = []

        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            result = func(*args, **(kwargs or {}))
            if func.overloadpacket.__name__ in names:
                self.results.append(weakref.ref(result.untyped_storage()))
                self.alive.append(sum(each() is not None for each in self.results))
            return result

    return Counter()


def judged_layers(answer: Callable) -> Callable:
    """The same step, with the judge's counts of living outputs and of layers in place of those that it gives."""

    def step(x: Any, weights: Any, segments: int) -> Any:
        with judges_counter("relu", "relu_") as layers:
            came = answer(x, weights, segments)
        if not isinstance(came, (list, tuple)) or len(came) != 5:
            return came
        return [*came[:3], max(layers.alive, default=0), len(layers.alive)]

    return step


def judged_masks(answer: Callable) -> Callable:
    """The same step, or words if it drew masks once only, or kept those of several blocks for their way back."""

    def step(x: Any, seed: int, blocks: int) -> Any:
        with judges_counter("bernoulli_") as masks:
            came = answer(x, seed, blocks)
        if len(masks.alive) < 2 * blocks:
            return f"draws {len(masks.alive)} masks"
        most = max(masks.alive)
        return came if most <= 2 else f"keeps {most} masks at once"

    return step


def counting(judged: Callable, function: str) -> str:
    """Source that puts one of these around the function of this name."""
    return (
        "\n\n".join(map(inspect.getsource, (judges_counter, judged)))
        + f"\n\n{function} = {judged.__name__}({function})\n"
    )
