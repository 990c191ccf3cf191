"""The exercises of chapter 1: what their cases hold, and that what they expect is right."""

from pathlib import Path

import nbformat
import numpy as np
import pytest
import torch
from exercise_answers import SOLUTIONS, given
from torch.nn import functional

from course_lib import simulate
from course_lib.grading.exercises import chapters, exercises_of, find

IDS = [exercise.id for exercise in exercises_of("01")]


def _cases(exercise_id: str) -> list:
    return list(find(exercise_id).cases(np.random.default_rng()))


@pytest.mark.parametrize("exercise_id", [e.id for e in exercises_of("01") if e.mode == "ranks"])
def test_cases_hold_one_rank_and_an_odd_number_of_them_and_change_messages(exercise_id):
    cases = _cases(exercise_id)
    assert {1, 3} <= {case.world_size for case in cases}
    assert sum(case.world_size * (1 + case.perturb) for case in cases) <= 40
    assert any(case.perturb for case in cases)


@pytest.mark.parametrize("exercise_id", ["01b", "01e", "01f"])
def test_parts_are_uneven_and_some_rank_has_no_examples(exercise_id):
    cases = _cases(exercise_id)
    counts = [[a[1] if exercise_id == "01b" else len(a[0]) for a in case.inputs] for case in cases]
    assert any(0 in each for each in counts)
    assert all(len(set(each)) > 1 for each in counts[1:])


@pytest.mark.parametrize("exercise_id", ["01b", "01e", "01f"])
def test_no_message_is_changed_where_a_rank_is_empty(exercise_id):
    # A right answer may leave out what came from a rank without examples: then nothing shows the change.
    assert not any(case.perturb and 0 in case.about["counts"] for case in _cases(exercise_id))


def test_chapters_are_found_by_their_files():
    assert {"01", "02"} <= set(chapters())
    assert find("01d").function == "overlapped_backward"


# What is expected, against PyTorch on the joined batch


def test_the_way_back_through_batch_normalization_is_that_of_autograd():
    for case in _cases("01f"):
        batch = case.about["batch"].clone().requires_grad_()
        upstream = torch.cat([inputs[0] for inputs in case.inputs])
        functional.batch_norm(batch, None, None, training=True, eps=1e-5).backward(upstream)
        torch.testing.assert_close(torch.cat(case.expected), batch.grad)


def test_training_is_that_of_adagrad_in_pytorch():
    for case in _cases("01i"):
        weights = case.inputs[0][0].clone().requires_grad_()
        optimizer = torch.optim.Adagrad([weights], lr=0.5)
        inputs, targets = (torch.cat([arguments[place] for arguments in case.inputs], 1) for place in (1, 2))
        for rows, wanted in zip(inputs, targets, strict=True):
            optimizer.zero_grad()
            functional.mse_loss(rows @ weights, wanted).backward()
            optimizer.step()
        torch.testing.assert_close(case.expected[0], weights.detach())


def test_a_sharded_step_is_that_of_momentum_in_pytorch():
    for case in _cases("01g"):
        weights = case.inputs[0][0].clone().requires_grad_()
        optimizer = torch.optim.SGD([weights], lr=0.25, momentum=0.5)
        optimizer.state[weights]["momentum_buffer"] = case.about["before"].clone()
        weights.grad = sum(arguments[1] for arguments in case.inputs) / case.world_size
        optimizer.step()
        assert torch.equal(case.expected[0][0], weights.detach())


# The notebooks


def _cell(path: Path, name: str) -> str:
    return next(cell.source for cell in nbformat.read(path, as_version=4).cells if cell.id == name)


def test_averaged_parameters_show_with_adagrad_and_not_with_sgd_or_momentum():
    names = {"torch": torch, "simulate": simulate, "show_table": lambda rows, *_, **__: names.update(rows=list(rows))}
    exec(given("01"), names)
    exec(_cell(SOLUTIONS["01"], "h-given"), names)
    exec(_cell(SOLUTIONS["01"], "h-three"), names)
    largest = {update: float(difference) for update, difference in names["rows"]}
    assert max(largest["sgd"], largest["heavy_ball"]) < 1e-12
    assert largest["adagrad"] > 0.01
