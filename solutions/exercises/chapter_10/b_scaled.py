"""Exercise 10b: step, speed-up and efficiency with a fixed batch and with one that grows, and with overlap."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from course_lib.grading.exercise import Case
from course_lib.grading.exercises.common import Reasons, function_exercise

__all__ = ["EXERCISE"]


# Cases


def clusters(rng: np.random.Generator) -> Iterator[Case]:
    """Both policies, on one rank and on more, with an all-reduce that hides wholly, in part, or hardly."""
    calls: list[tuple[int, int, int, int, int, str]] = [
        (12, 3, 16, 16, 4, "strong"),
        (12, 3, 16, 16, 4, "weak"),
        (9, 3, 40, 8, 1, "strong"),
        (9, 3, 40, 8, 1, "weak"),
    ]
    for policy in ("strong", "weak"):
        for ranks, most_share in ((2, 0.4), (8, 2.0), (5, 1.2), (16, 6.0)):
            fixed, example, each = 3 * int(rng.integers(2, 9)), 3 * int(rng.integers(1, 4)), int(rng.integers(2, 9))
            batch = each * ranks + (ranks == 5) * int(rng.integers(1, 5)) if policy == "strong" else each
            wire = max(1, round(most_share * (fixed + each * example) * (0.5 + 0.5 * rng.random()) / 2))
            calls.append((fixed, example, wire, batch, ranks, policy))
    yield Case(1, calls, [_slip(*call) for call in calls], label="two policies on 1 to 16 ranks")


# Diagnoses


def reasons(fixed_ms: int, example_ms: int, wire_ms: int, batch: int, ranks: int, policy: str) -> Reasons:
    call = fixed_ms, example_ms, wire_ms, batch, ranks, policy
    step, speedup, efficiency = _slip(*call)
    yield "The all-reduce hides behind the backward pass: of the two only the longer one counts", _slip(*call, hides=0)
    yield "It cannot begin in the forward pass: there are no gradients yet", _slip(*call, hides=3)
    yield "The backward pass is two thirds of the compute, the forward pass one", _slip(*call, hides=1)
    yield "The backward pass is two thirds of the compute, the forward pass one", _slip(*call, hides=1.5)
    yield "What is fixed does not get shorter: only the examples are shared out", _slip(*call, fixed_shared=True)
    yield "A ring takes 2 (n - 1)/n times wire_ms", _slip(*call, circles=1)
    yield "A ring takes 2 (n - 1)/n times wire_ms: nothing on one rank", _slip(*call, full=True)
    alone = fixed_ms + batch * example_ms
    lone = [step, alone / step, alone / step / ranks]
    yield "With a batch that grows, n ranks do n times the work of one: the speed-up is n times as large", lone
    one_rank = [step, ranks * alone / step, alone / step]
    yield "With a fixed batch n ranks together do the work of one, in a shorter time", one_rank
    if policy == "weak":
        once = (fixed_ms + ranks * batch * example_ms) / step
        yield "One rank alone takes n steps of its own batch, each with the fixed part", [step, once, once / ranks]
    yield "Efficiency is the speed-up divided by the number of ranks", [step, speedup, speedup]
    yield "Efficiency is a share of 1, no percentage", [step, speedup, 100 * efficiency]
    yield "First the speed-up, then the efficiency", [step, efficiency, speedup]
    turned = {"strong": "weak", "weak": "strong"}[policy]
    yield 'A fixed batch is "strong", one that grows with the ranks is "weak"', _slip(*call[:-1], turned)
    yield "With a fixed batch each rank has batch / ranks examples", _slip(*call, each=batch)
    yield "Take the fraction batch / ranks as it is: `//` drops examples", _slip(*call, each=max(1, batch // ranks))
    yield "With a batch that grows each rank has all of `batch`", _slip(*call, each=batch / ranks)


def _slip(
    fixed_ms: int,
    example_ms: int,
    wire_ms: int,
    batch: int,
    ranks: int,
    policy: str,
    *,
    hides: float = 2,
    fixed_shared: bool = False,
    circles: int = 2,
    full: bool = False,
    each: float | None = None,
) -> list[float]:
    """[step, speed-up, efficiency], or with one mistake; `hides` thirds of the compute run beside the all-reduce."""
    each = each or (batch / ranks if policy == "strong" else batch)
    compute = fixed_ms / (ranks if fixed_shared and policy == "strong" else 1) + each * example_ms
    all_reduce = circles * wire_ms * (1 if full else (ranks - 1) / ranks)
    step = (3 - hides) / 3 * compute + max(hides / 3 * compute, all_reduce)
    alone = fixed_ms + batch * example_ms
    speedup = alone / step * (1 if policy == "strong" else ranks)
    return [step, speedup, speedup / ranks]


# The exercise

EXERCISE = function_exercise(
    id="10b",
    title="Speed-up and efficiency",
    function="scaled",
    points=4,
    cases=clusters,
    tolerance=1e-9,
    reasons=reasons,
    hints=(
        "How many examples has one rank? Its compute is fixed_ms + that number · example_ms.",
        "step = compute / 3 + max(compute · 2 / 3, all-reduce), the all-reduce 2 (n - 1)/n · wire_ms.",
        "alone = fixed_ms + batch · example_ms. Strong: alone / step. Weak: ranks · alone / step. Divide by ranks.",
    ),
)
