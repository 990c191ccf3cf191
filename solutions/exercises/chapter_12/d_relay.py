"""Exercise 12d: a training that goes from rank to rank and comes out as if it had stayed on one."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import torch

from course_lib.grading import rules
from course_lib.grading.exercise import Case, Exercise, Outcome
from course_lib.grading.exercises.common import FAILURES, Mistakes, matrix, mistaken
from course_lib.grading.exercises.counted import counting, judges_counter

__all__ = ["EXERCISE", "Training"]

PARTS = ("weights", "velocity", "order", "taken", "generator")


class Training:
    """The page's: descent with momentum, one example a step, in an order drawn for each epoch, with dropout."""

    def __init__(self, rows: torch.Tensor, weights: torch.Tensor, seed: int) -> None:
        self.rows = rows
        self.weights = weights.clone()
        self.velocity = torch.zeros_like(weights)
        self.generator = torch.Generator().manual_seed(seed)
        self.order = torch.randperm(len(rows), generator=self.generator)
        self.taken = 0

    def step(self) -> None:
        if self.taken == len(self.order):
            self.order = torch.randperm(len(self.rows), generator=self.generator)
            self.taken = 0
        row = self.rows[self.order[self.taken]]
        kept = torch.rand(len(row), generator=self.generator) < 0.5
        self.velocity = 0.5 * self.velocity + (self.weights - row) * kept
        self.weights = self.weights - 0.25 * self.velocity
        self.taken += 1


# Cases


def trainings(rng: np.random.Generator) -> Iterator[Case]:
    """Taken over at the beginning of an epoch, in its middle and at its end, once by a rank that has no step to do."""
    for length, steps in ((5, (3, 9)), (4, (6,)), (4, (4, 5, 6)), (6, (8, 1, 0, 12, 5))):
        rows = matrix(rng, length, 3)
        seeds = rng.permutation(1000)[: len(steps)].tolist()
        inputs = [(rows, matrix(rng, 3), seed, list(steps)) for seed in seeds]
        label = f"world_size {len(steps)}, {length} examples, steps {list(steps)}"
        yield Case(len(steps), inputs, _relayed(inputs, PARTS), label=label)


def _relayed(inputs: Sequence[tuple], parts: Sequence[str], at: str = "end", seed_of: str = "own") -> list:
    """The weights of each rank after its steps if only these parts are handed over, or those of the beginning."""
    results, sent = [], dict[str, object]()
    for rank, (rows, weights, seed, steps) in enumerate(inputs):
        training = Training(rows, weights, inputs[0][2] if seed_of == "first" else seed)
        training.__dict__.update({name: copy.deepcopy(sent[name]) for name in parts if rank})
        before = copy.deepcopy(vars(training))
        for _ in range(steps[rank]):
            training.step()
        sent = vars(training) if at == "end" else before
        results.append(training.weights)
    return results


# What the judge counts


def judged_steps(answer: Callable) -> Callable:
    """The same relay, or words if it drew for more steps than this rank's."""

    def relay(comm: Any, rows: Any, weights: Any, seed: int, steps: list[int]) -> Any:
        with judges_counter("rand") as drawn:
            came = answer(comm, rows, weights, seed, steps)
        more = len(drawn.alive) > steps[comm.rank]
        return f"drew the dropout of {len(drawn.alive)} steps and has {steps[comm.rank]} to do" if more else came

    return relay


# Diagnoses


def did_steps_again(case: Case, outcome: Outcome) -> str | None:
    """The steps of the ranks before, done once more."""
    said = next(((rank, value) for rank, value in enumerate(outcome.values) if isinstance(value, str)), None)
    return said and f"rank {said[0]} {said[1]}: it goes on from what the rank before it hands over, and repeats nothing"


def slips(case: Case) -> Mistakes:
    inputs = case.inputs

    def without(*names: str) -> list:
        return _relayed(inputs, [part for part in PARTS if part not in names])

    yield "went on from weights of its own: those that it gets must become the training's", without("weights")
    yield "began with no momentum: the velocity belongs to the state", without("velocity")
    yield "drew an order of its own in the middle of an epoch: the order belongs to the state", without("order")
    yield "began the epoch's order from its first example: how many are taken belongs to the state", without("taken")
    yield "dropped other numbers: the generator's state belongs to the state", without("generator")
    seeded = _relayed(inputs, PARTS[:-1], seed_of="first")
    yield "seeded its generator as at the start: what it draws next depends on all that was drawn since", seeded
    yield "has the weights and nothing else. What does a step read beside them?", _relayed(inputs, PARTS[:1])
    yield "has weights and velocity, and began an epoch of its own", _relayed(inputs, PARTS[:2])
    yield "lacks both the order and the generator's state", without("order", "generator")
    yield "lacks both the order and the place in it", without("order", "taken")
    yield "was handed what there was before the other's steps: send after them", _relayed(inputs, PARTS, at="beginning")
    yield "trained from its own beginning, with nothing of what the ranks before it had", _relayed(inputs, ())


# The exercise

EXERCISE = Exercise(
    id="12d",
    title="Go on exactly",
    function="relay",
    points=5,
    answer="return",
    cases=trainings,
    dtypes=(torch.float32, torch.float64, torch.int32, torch.int64, torch.uint8),
    rules=(rules.most_messages(lambda case: 8 * (case.world_size - 1)),),
    diagnoses=(*FAILURES, did_steps_again, mistaken(slips, 0.0)),
    perturbation=None,  # a changed state of a generator is none
    stand_ins=counting(judged_steps, "relay"),
    hints=(
        "Read `step` line by line: which attributes does it read that an earlier step has changed?",
        "Five: weights, velocity, order, taken, and what the generator would draw next, generator.get_state(). A whole "
        "number travels as torch.tensor([number]).",
        "On rank > 0 make a Training, receive into tensors of the same shapes and dtypes from comm.rank - 1, put all "
        "five in place (generator.set_state). Then the steps; then send the five to comm.rank + 1.",
    ),
)
