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
from course_lib.grading.exercises.mistakes import made
from course_lib.grading.exercises.sources import program
from course_lib.grading.rehearsal.cases import run_case

IDS = [exercise.id for exercise in exercises_of("01")]


def _cases(exercise_id: str) -> list:
    return list(find(exercise_id).cases(np.random.default_rng()))


@pytest.mark.parametrize("exercise_id", [e.id for e in exercises_of("01") if e.mode == "ranks"])
def test_cases_hold_one_rank_and_an_odd_number_of_them_and_change_messages(exercise_id):
    cases = _cases(exercise_id)
    assert {1, 3} <= {case.world_size for case in cases}
    assert sum(case.world_size * (1 + case.perturb) for case in cases) <= 40
    assert any(case.perturb for case in cases)


@pytest.mark.parametrize("exercise_id", ["01b", "01e"])
def test_parts_are_uneven_and_some_rank_has_no_examples(exercise_id):
    cases = _cases(exercise_id)
    counts = [[a[1] if exercise_id == "01b" else len(a[0]) for a in case.inputs] for case in cases]
    assert any(0 in each for each in counts)
    assert all(len(set(each)) > 1 for each in counts[1:])


@pytest.mark.parametrize("exercise_id", ["01b", "01e"])
def test_no_message_is_changed_where_a_rank_is_empty(exercise_id):
    # A right answer may leave out what came from a rank without examples: then nothing shows the change.
    assert not any(case.perturb and 0 in case.about["counts"] for case in _cases(exercise_id))


def test_chapters_are_found_by_their_files():
    assert {"01", "02"} <= set(chapters())
    assert find("01d").function == "overlapped_backward"


# What is expected, against PyTorch on the joined batch


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


# The clock of a sharded step


def _rules_say(source: str) -> list[str]:
    exercise = find("01k")
    found = []
    for case in _cases("01k"):
        outcome = run_case(exercise, case, made(program("01k")[0], source, exercise.stand_ins, exercise.function))
        assert outcome.failure is None, outcome.failure
        found += [said for said in (rule.check(case, outcome.trace) for rule in exercise.rules) if said]
    return found


def test_a_layer_that_waits_for_its_own_message_is_in_time_and_one_that_waits_for_the_next_is_late():
    assert _rules_say(program("01k")[1]) == []
    late = program("01k")[1].replace("units.gather(k - 1)", "units.gather(k - 1)\n            units.wait(k - 1)")
    assert all("backward(" in said and "could have begun" in said for said in _rules_say(late))
    assert len(_rules_say(late)) >= 2  # on 2, 3 and 4 ranks, each with the layers it has


def test_messages_of_ones_own_are_not_taken_for_gathers():
    own = program("01k")[1].replace(
        "    units.gather(0)", "    all_reduce(comm, torch.zeros(7).double())\n    units.gather(0)"
    )
    assert all("not those of units.gather" in said or "messages" in said for said in _rules_say(own))
    assert _rules_say(own)


# The notebooks


def test_the_layers_that_the_page_gives_are_those_of_the_judge():
    class_of_the_judge = (SOLUTIONS["01"].parent / "exercises/chapter_01/k_sharded_step.py").read_text(encoding="utf-8")
    assert _cell(SOLUTIONS["01"], "k-given") + "\n\n\n" in class_of_the_judge


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
