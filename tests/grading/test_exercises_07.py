"""What chapter 7's solutions give is what the library's plans give when they are played."""

from itertools import accumulate

import numpy as np
import pytest
import torch

from course_lib.checkpointing.chain_plans import revolve_closed_form, segment_plan
from course_lib.checkpointing.plan import plan_cost, plan_peak, read_plan
from course_lib.grading.exercises import find
from course_lib.grading.exercises.chapter_07.shared import chain, within
from course_lib.grading.exercises.counted import judges_counter
from course_lib.grading.exercises.mistakes import function_of

fewest_held, peak_and_recomputed, min_recomputed = (function_of(find(name)) for name in ("07a", "07b", "07c"))


def test_the_best_segments_hold_what_their_plan_holds_when_it_is_played():
    for layers in range(1, 13):
        k, peak, recomputed = fewest_held(layers)
        plan = segment_plan([0, *accumulate(layers // k + (number < layers % k) for number in range(k))])
        assert plan_peak(plan, chain(layers)) == peak
        assert plan_cost(plan, chain(layers)) - layers == recomputed


def test_the_peak_of_a_plan_is_that_of_the_library():
    for case in find("07b").cases(np.random.default_rng()):
        for sizes, words in case.inputs:
            plan, graph = read_plan(", ".join(words)), chain(len(sizes) - 1, sizes)
            again = plan_cost(plan, graph) - len(sizes) + 1
            assert peak_and_recomputed(sizes, words) == [plan_peak(plan, graph), again]


def test_layers_that_take_equally_long_recompute_what_revolve_does():
    for layers, slots in ((1, 1), (5, 1), (10, 3), (7, 9), (50, 5)):
        assert min_recomputed([2] * layers, slots) == 2 * revolve_closed_form(layers, slots)


def test_nothing_goes_to_the_host_where_memory_is_counted():
    may_take = within(chain(2), 2, 9, lambda moments: "")
    plan = "run 1, move 0, store 2, free 1, free 2, back 2, fetch 0, store 1, free 0, free 1, back 1"
    assert may_take(plan.split(", ")) == "must give actions that are run, store, back or free, got 'move'"
    assert "cannot be read" in may_take(["run"])


@pytest.mark.parametrize(
    "run", [lambda drop, x: drop(x), torch.func.vjp, lambda drop, x: torch.vmap(drop, randomness="same")(x)]
)
def test_a_mask_is_counted_however_a_block_is_run(run):
    with judges_counter("bernoulli") as masks:
        run(lambda x: torch.nn.functional.dropout(x, 0.5), torch.ones(3))
    assert len(masks.alive) == 1
