"""Exercise 07g: blocks with dropout, recomputed with other masks; to be mended."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import torch

from course_lib.grading.exercise import Case, Exercise, Outcome
from course_lib.grading.exercises.common import other_call
from course_lib.grading.exercises.counted import counting, judges_counter
from course_lib.grading.verdict import difference

__all__ = ["EXERCISE"]


# Cases


def steps(rng: np.random.Generator) -> Iterator[Case]:
    """Whole numbers, a seed, and how many blocks; in the first call no two mistakes give the same."""
    calls = []
    for blocks in (2, 1, 3, 5):
        x = torch.from_numpy(rng.integers(1, 9, 6)).float()
        seeds = iter(rng.integers(1, 10**6, 1000).tolist())
        calls.append((x, next(seed for seed in seeds if blocks != 2 or _tells_apart(x, seed, blocks)), blocks))
    yield Case(1, calls, [_step(*call) for call in calls], label="steps of blocks with dropout")


def _block(x: torch.Tensor) -> torch.Tensor:
    return x.roll(1) + torch.nn.functional.dropout(x, 0.5)


def _step(x: torch.Tensor, seed: int, blocks: int) -> list[torch.Tensor]:
    """By plain autograd, which recomputes nothing."""
    with torch.random.fork_rng(devices=[]), torch.enable_grad():
        torch.manual_seed(seed)
        leaf = y = x.clone().requires_grad_()
        for _ in range(blocks):
            y = _block(y)
        y.sum().backward()
        assert leaf.grad is not None
        return [y.detach(), leaf.grad, torch.rand(1)]


# What the judge counts


def judged_masks(answer: Callable) -> Callable:
    """The same step, or words if it drew masks once only, or kept several blocks for their way back."""

    def step(x: Any, seed: int, blocks: int) -> Any:
        with judges_counter("bernoulli_") as masks:
            came = answer(x, seed, blocks)
        if len(masks.alive) < 2 * blocks:
            return f"draws {len(masks.alive)} masks"
        most = max(masks.alive)
        return came if most <= 2 else f"keeps {most} masks at once"

    return step


# Diagnoses

# (block, states before each block and at the end) -> the state to recompute from; None: from where it is
Choice = Callable[[int, Sequence[torch.Tensor]], torch.Tensor | None]


def _slip(x: torch.Tensor, seed: int, blocks: int, choose: Choice, back: bool = False) -> list[torch.Tensor]:
    """What comes if block i is recomputed from the state that `choose` gives, and whether the last one is put back."""
    with torch.random.fork_rng(devices=[]), torch.enable_grad():
        torch.manual_seed(seed)
        states, inputs = [torch.get_rng_state()], []
        for _ in range(blocks):
            inputs.append(x)
            x = _block(x)
            states.append(torch.get_rng_state())
        gradient = torch.ones_like(x)
        for i in reversed(range(blocks)):
            state = choose(i, states)
            if state is not None:
                torch.set_rng_state(state)
            leaf = inputs[i].clone().requires_grad_()
            (gradient,) = torch.autograd.grad(_block(leaf), leaf, gradient)
        if back:
            torch.set_rng_state(states[-1])
        return [x, gradient, torch.rand(1)]


def reasons(x: torch.Tensor, seed: int, blocks: int) -> Iterator[tuple[str, list[torch.Tensor]]]:
    call = x, seed, blocks
    choices: list[tuple[str, Choice]] = [
        ("That is what it gave before: a block that runs again draws another mask", lambda i, states: None),
        ("With the seed once more every block gets the first one's mask", lambda i, states: states[0]),
        ("Each block has a state of its own: one place for all keeps only the last", lambda i, states: states[-2]),
        ("Keep the state before the block draws, not after", lambda i, states: states[i + 1]),
        ("Blocks go back in reverse, so take their states in reverse, too", lambda i, states: states[blocks - 1 - i]),
    ]
    for text, choose in choices:
        for back in (False, True):
            yield text, _slip(*call, choose, back)
    y, _, after = _step(*call)
    yield (
        "The gradient is right. But the numbers drawn afterwards repeat old ones: put the state back to where it was",
        _slip(*call, lambda i, states: states[i]),
    )
    yield "That is the gradient without dropout: it must pass the same masks", [y, torch.ones_like(x), after]


def _tells_apart(x: torch.Tensor, seed: int, blocks: int) -> bool:
    """Whether a value shows which mistake it comes from, if from any."""
    found = {str(_step(x, seed, blocks)[1:]): ""}
    return all(found.setdefault(str(value[1:]), text) == text for text, value in reasons(x, seed, blocks))


def another_network(case: Case, outcome: Outcome) -> str | None:
    """An output that seed and blocks do not give."""
    if outcome.failure is not None:
        return None
    for (_, seed, blocks), right, came in zip(case.inputs, case.expected, outcome.values, strict=True):
        if isinstance(came, (list, tuple)) and len(came) == 3 and difference(right[0], came[0]):
            return (
                f"mended_step with seed {seed} and {blocks} blocks gives another y than the colleague's step: on the "
                "way forward nothing was wrong. Set the seed once, and let only the blocks draw"
            )
    return None


def kept_a_graph(case: Case, outcome: Outcome) -> str | None:
    """The given block refuses gradients of a run that is the only one, and the judge counts masks."""
    if outcome.failure is not None:
        told = outcome.failure.text if "ran only once" in outcome.failure.text else ""
    else:
        texts = zip(case.inputs, outcome.values, strict=True)
        told = next((f"with {call[2]} blocks it {came}" for call, came in texts if isinstance(came, str)), "")
    return told and (
        "without recomputing there are no two masks, but then autograd keeps everything. Run the blocks forward under "
        f"torch.no_grad(), and each of them again on the way back: {told}"
    )


# The exercise

EXERCISE = Exercise(
    id="07g",
    title="Find the bug",
    function="mended_step",
    points=4,
    cases=steps,
    mode="function",
    answer="return",
    diagnoses=(kept_a_graph, another_network, other_call("mended_step", reasons)),
    stand_ins=counting(judged_masks, "mended_step"),
    hints=(
        "A block draws its mask when it runs. Which mask does it draw when it runs again?",
        "torch.get_rng_state() before a block runs for the first time; torch.set_rng_state(...) before it runs again.",
        "Keep (x, torch.get_rng_state()) for each block. Before the way back begins, note the state too, and set it "
        "again at the end: torch.random.fork_rng() around the way back does the same.",
    ),
)
