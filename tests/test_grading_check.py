"""The check in the notebook: says what the judge would say, and decides nothing."""

from dataclasses import replace

import pytest
import torch
from grading_example import ANSWERS, RING

from course_lib.grading import check, hint
from course_lib.grading.exercise import Case, Exercise, Outcome
from course_lib.grading.verdict import difference


def _function(source):
    names = {}
    exec(source, names)
    return names["ring_sum"]


@pytest.mark.parametrize("name", ANSWERS)
def test_a_right_answer_is_told_so_with_its_points(name):
    source, points = ANSWERS[name]
    report = check(RING, _function(source))
    assert report.points == points
    assert report.ok == (points == 4)


def test_a_wrong_value_is_shown_beside_the_right_one_with_world_size_and_element():
    text = repr(check(RING, lambda comm, tensor: tensor.mul_(comm.world_size)))
    assert "1 case is right" in text
    assert "world_size 2, 8 elements: rank 0 holds [" in text
    assert "the first difference is at element 0" in text
    assert "decides no points" in text


def test_an_untouched_function_is_not_an_error():
    def ring_sum(comm, tensor):
        raise NotImplementedError

    (finding,) = check(RING, ring_sum).findings
    assert str(finding) == "not attempted yet: the function still raises NotImplementedError"


def test_a_deadlock_and_an_exception_are_findings():
    def stuck(comm, tensor):
        if comm.world_size > 1:
            comm.recv(tensor, (comm.rank + 1) % comm.world_size)

    assert "waits in recv from" in repr(check(RING, stuck))
    assert "ZeroDivisionError" in repr(check(RING, lambda comm, tensor: 1 / 0))


def test_a_diagnosis_speaks_in_place_of_the_numbers():
    def own(case: Case, outcome: Outcome):
        if outcome.failure is None and torch.equal(outcome.values[0], case.inputs[0][0]):
            return "nothing was added"

    def stumbles(case, outcome):
        return outcome.values[7]

    (finding,) = check(replace(RING, diagnoses=(stumbles, own)), lambda comm, tensor: None).findings
    assert finding.text == "nothing was added"


def test_the_report_is_html_that_unfolds_and_escapes():
    page = check(RING, lambda comm, tensor: comm.world_size == 1 or {}["<script>"])._repr_html_()
    assert "<script>" not in page
    assert page.count("<details>") == 2  # the second hint inside the first
    assert "hint 2" in page
    assert "var(--jp-" in page


def test_hints_come_one_by_one():
    assert repr(hint(RING, 1)) == "Hint 1 of 2: Cut the tensor into world_size chunks."
    assert repr(hint(RING, 3)) == "Exercise 99a has 2 hints."


def test_the_same_check_twice_says_the_same():
    wrong = lambda comm, tensor: tensor.zero_()  # noqa: E731
    assert repr(check(RING, wrong)) == repr(check(RING, wrong))


def test_what_is_no_function_is_refused():
    with pytest.raises(TypeError, match="needs your function, got int"):
        check(RING, 3)


def test_a_plain_function_is_shown_with_its_arguments():
    cases = lambda rng: [Case(1, [(10, 2), (3, 3)], [20, 9], label="cost")]  # noqa: E731
    one = Exercise("98b", "Cost", "cost", 1, cases, answer="return", mode="function")
    assert check(one, lambda n, p: n * p).ok
    assert "cost: cost(10, 2) gave 12 where 20 is right" in repr(check(one, lambda n, p: n + p))
    assert "gave nothing (None) where 20 is right" in repr(check(one, lambda n, p: None))


@pytest.mark.parametrize(
    ("expected", "value", "words"),
    [
        (torch.ones(3), torch.ones(2), "holds a tensor of shape (2,), expected was (3,)"),
        (torch.ones(3), None, "gave nothing (None) where [1, 1, 1] is right"),
        (torch.ones(1), torch.tensor([float("nan")]), "holds [nan] where [1] is right"),
        ([1, 2], [1], "gave 1 values where 2 are right"),
        ([1, 2], [1, 3], "gave 3 where 2 is right (value 1 of those returned)"),
        (1.0, "one", "gave str where 1 is right"),
        (torch.ones(2), torch.ones(2, dtype=torch.complex64), "gave Tensor where"),
        (lambda value: value.nothing, 3, "has not the right form"),
    ],
)
def test_each_kind_of_difference_has_its_words(expected, value, words):
    assert words in difference(expected, value)


def test_a_tolerance_is_relative_and_exact_without():
    assert difference(1e6, 1e6 + 1, tolerance=1e-5) is None
    assert difference(torch.ones(2), torch.ones(2, dtype=torch.float64)) is None
    assert difference(1.0, 1.0 + 1e-12) is not None
