"""Steps of a GPT in three ways: each learns as in fp32, and the mixed ones follow each other."""

import pytest
import torch

from course_lib.precision.experiments.steps import WAYS, step_in
from course_lib.tasks import GPT, GPTConfig, next_token_loss

TINY = GPTConfig(vocabulary=16, context=8, layers=1, width=16, heads=2)
TOKENS = torch.arange(16).reshape(2, 8)
TARGETS = TOKENS.roll(-1, 1)


@pytest.mark.parametrize("way", WAYS)
def test_ten_steps_come_as_far_as_those_in_fp32(way):
    reference, model = GPT(TINY), GPT(TINY)
    whole, step = step_in("fp32", reference, TOKENS, TARGETS), step_in(way, model, TOKENS, TARGETS)
    for _ in range(10):
        whole()
        step()
    with torch.no_grad():
        before, expected = (next_token_loss(each(TOKENS), TARGETS).item() for each in (GPT(TINY), reference))
        after = next_token_loss(model(TOKENS).float(), TARGETS).item()
    assert expected < before - 0.1
    assert after - expected == pytest.approx(0, abs=0.05 * (before - expected))


def test_both_mixed_ways_follow_each_other_from_step_to_step():
    ours, theirs = GPT(TINY), GPT(TINY)
    mine, amp = step_in("from scratch", ours, TOKENS, TARGETS), step_in("torch.amp", theirs, TOKENS, TARGETS)
    for _ in range(5):
        loss, finite = mine()
        assert finite
        assert loss == pytest.approx(amp(), rel=0.001)


def test_a_way_that_there_is_not_is_refused():
    with pytest.raises(ValueError, match="got 'fp12'"):
        step_in("fp12", GPT(TINY), TOKENS, TARGETS)
