"""Stages of whole numbers: equal gradients are found equal, and one changed bit is seen."""

import pytest
import torch

from course_lib.pipeline import equal_to_one_process, whole_number_batch, whole_number_stage


@pytest.mark.parametrize("stages", [1, 2, 5])
@pytest.mark.parametrize("seed", [0, 3])
def test_gradients_in_parts_are_equal_and_one_that_differs_is_seen(stages: int, seed: int) -> None:
    model = [whole_number_stage(number, seed) for number in range(stages)]
    batch = whole_number_batch(seed, examples=13)
    for part in batch.tensor_split(4):
        torch.nn.Sequential(*model)(part).sum().backward()
    gradients = [[parameter.grad for parameter in stage.parameters()] for stage in model]
    assert equal_to_one_process(gradients, batch, seed)
    assert not equal_to_one_process(gradients, batch, seed + 1)
    gradients[-1][1][0] += 1
    assert not equal_to_one_process(gradients, batch, seed)


def test_a_gradient_that_is_missing_is_an_error() -> None:
    with pytest.raises(ValueError, match="zip"):
        equal_to_one_process([[]], whole_number_batch())
