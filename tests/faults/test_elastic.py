"""Under torchrun an agent dies in mid-epoch, and the training ends with fewer ranks and every example counted once."""

from collections import Counter

import pytest

from course_lib.faults.experiments import elastic_run
from course_lib.faults.experiments.elastic_worker import EXAMPLES, SAVE_EVERY


@pytest.mark.slow
def test_the_ranks_that_are_left_end_the_epoch_and_no_example_counts_twice():
    steps = elastic_run(steps=32, kill_at=13)
    last = max(step.life for step in steps)
    assert {step.world_size for step in steps if step.life == last} == {2}
    assert 3 in {step.world_size for step in steps}
    counted = [step for step in steps if step.counts]
    assert [step.step for step in counted] == list(range(1, 33))
    assert Counter(example for step in counted for example in step.examples) == Counter(range(EXAMPLES))
    # What had been trained since the newest checkpoint was trained again.
    began_at = min(step.step for step in steps if step.life == last)
    assert began_at % SAVE_EVERY == 1
    assert any(not step.counts for step in steps) or began_at == min(s.step for s in counted if s.life == last)
