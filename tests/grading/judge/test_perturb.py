"""A changed message: who must show it, who must not, and why a right answer always passes."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from grading_example import ANSWERS, RING, cells
from hypothesis import given
from hypothesis import strategies as st

from course_lib.grading.exercise import Case
from course_lib.grading.judge import perturb, protection
from course_lib.grading.judge.grader import Grader
from course_lib.grading.judge.launcher import Launcher
from course_lib.grading.judge.perturb import Perturbation
from course_lib.grading.sandbox.frames import DTYPES, Payload, decode, encode
from course_lib.grading.verdict import flat_differences

NOTHING = torch.zeros(8)


def _change(**about):
    return Perturbation(0, 1000, sender=0, receiver=1, elements=4, **about)


def _shows(amount, elements=4):
    difference = NOTHING.clone()
    difference[:elements] = amount
    return difference


@pytest.mark.parametrize("times", [1, 2, 3])
def test_a_receiver_that_shows_the_amount_passes(times):
    differences = [NOTHING, _shows(1000 * times), NOTHING]
    assert perturb.misplaced(_change(), differences, {1}, whole_multiples=True) is None
    assert perturb.unshown(_change(), differences, {1}, shown_by="receiver") is None


def test_a_rank_that_cannot_have_felt_it_must_not_show_it():
    differences = [_shows(1000), _shows(1000), NOTHING]
    text = perturb.misplaced(_change(), differences, {1, 2}, whole_multiples=True)
    assert text == "rank 0 showed another rank's message although nothing it received had changed"


def test_an_amount_that_shows_as_something_else_is_found():
    text = perturb.misplaced(_change(), [NOTHING, _shows(999), NOTHING], {1}, whole_multiples=True)
    assert "rank 1's result changed by something else" in text
    assert perturb.misplaced(_change(), [NOTHING, _shows(999), NOTHING], {1}, whole_multiples=False) is None
    assert perturb.misplaced(_change(exact=False), [NOTHING, _shows(999)], {1}, whole_multiples=True) is None


def test_not_a_number_is_no_whole_multiple():
    assert perturb.misplaced(_change(), [NOTHING, _shows(float("nan"))], {1}, whole_multiples=True)


def test_a_result_that_shows_nothing_was_not_made_from_the_messages():
    text = perturb.unshown(_change(), [NOTHING] * 3, {1, 2}, shown_by="downstream")
    assert "no result showed it" in text


def test_of_a_large_message_a_quarter_of_the_result_is_enough():
    large = replace(_change(), elements=400)  # of a matrix, say, whose diagonal is used
    assert perturb.unshown(large, [NOTHING, _shows(1000, 2), NOTHING], {1}, shown_by="receiver") is None
    assert perturb.unshown(large, [NOTHING, _shows(1000, 1), NOTHING], {1}, shown_by="receiver")


def test_the_receiver_itself_must_show_it_where_the_exercise_says_so():
    differences = [NOTHING, NOTHING, _shows(1000)]
    assert perturb.unshown(_change(), differences, {1, 2}, shown_by="downstream") is None
    assert perturb.unshown(_change(), differences, {1, 2}, shown_by="receiver")


def test_only_messages_that_carry_data_are_changed():
    rng = np.random.default_rng(0)
    picked = {perturb.choose(rng, [8, 400, 8, 396, 0]).index for _ in range(50)}
    assert picked == {1, 3}
    assert perturb.choose(rng, [0, 0]) is None
    assert perturb.choose(rng, []) is None


def _passed(tensor, seed=0, **about):
    """What arrives of this message if it is the one that is changed, and the change."""
    change = Perturbation(0, 47, seed, **about)
    send = SimpleNamespace(payload=decode(encode(tensor)), rank=0, step=1)
    recv = SimpleNamespace(rank=1, tainted=False)
    data = change.passing(0, send, recv)
    return Payload(tensor.dtype, tuple(tensor.shape), data).tensor(), change


@pytest.mark.parametrize("loud", [False, True])
def test_half_of_the_elements_change_each_by_another_multiple_of_the_unit(loud):
    for seed in range(20):
        tensor = 1000.0 * torch.arange(40.0).reshape(5, 8)
        came, change = _passed(tensor, seed, loud=loud)
        amounts = (came - tensor).reshape(-1)
        amounts = amounts[amounts != 0]
        assert len(amounts) == change.elements == 20
        assert change.unit == 47
        assert (amounts % change.unit == 0).all()
        assert len(set(amounts.tolist())) > 15  # nothing that one element shows can be taken off another


@given(
    data=st.lists(st.integers(-(2**20), 2**20), min_size=1, max_size=40),
    scale=st.sampled_from([1, 1e-3, 0.37]),
    dtype=st.sampled_from([torch.float32, torch.float64, torch.int64]),
    seed=st.integers(0, 99),
)
def test_what_arrives_could_have_been_data_and_differs_enough_to_be_noticed(data, scale, dtype, seed):
    tensor = (torch.tensor(data, dtype=torch.float64) * (1 if dtype == torch.int64 else scale)).to(dtype)
    came, change = _passed(tensor, seed)
    low, high = min(0, tensor.min()), max(0, tensor.max())
    amounts = (came.double() - tensor.double())[came != tensor]
    assert len(amounts) == change.elements
    if low == high:
        return
    assert low <= came.min() <= came.max() <= high
    assert (amounts.abs() >= 0.99 / 16 * (high - low)).all() or change.unit == 1
    if (tensor == tensor.round()).all():
        assert (came == came.round()).all()
        assert (amounts % change.unit == 0).all()


@pytest.mark.parametrize("data", [[0, 0, 0], [5], [-1], [0, 1, 1, 0], [3, 3, 3], [0.25, -0.5]])
def test_small_and_constant_messages_change_within_their_range_and_0(data):
    for seed in range(10):
        tensor = torch.tensor(data, dtype=torch.float32)
        came, _ = _passed(tensor, seed)
        assert (came != tensor).all()
        if tensor.any():
            assert min(0, tensor.min()) <= came.min() <= came.max() <= max(0, tensor.max())


def test_where_nobody_shows_it_louder_changes_follow():
    change = Perturbation(3, 47)
    change.unit = 2
    loud = change.louder("receiver")
    assert (loud.index, loud.unit, loud.loud) == (3, 47, True)
    assert loud.louder("receiver") is None
    assert (loud.louder("downstream").index, loud.louder("downstream").louder("downstream")) == (None, None)
    came, _ = _passed(torch.tensor([1.0, -3.0]), loud=True)
    assert (came > 6000).all()


def test_which_elements_change_is_a_secret_of_the_seed():
    tensor = torch.zeros(40)
    first, again, other = (_passed(tensor, seed)[0] for seed in (1, 1, 2))
    assert torch.equal(first, again)
    assert not torch.equal(first != 0, other != 0)


@pytest.mark.parametrize("length", [1, 3, 8])
def test_a_short_message_changes_in_all_of_its_elements(length):
    came, change = _passed(torch.zeros(length))
    assert (came != 0).all()
    assert change.elements == length


@pytest.mark.parametrize("dtype", DTYPES)
def test_a_message_of_any_dtype_can_be_changed(dtype):
    came, _ = _passed(torch.zeros(4, dtype=dtype))
    assert (came.to(torch.complex64) != 0).all()


def test_any_message_of_a_right_answer_may_be_changed():
    """Each message in turn, not a random one: so the judge cannot be unfair to these answers."""
    if protection.best_level() == "unsafe":
        pytest.skip("no isolation on this system")

    with Launcher(protection.LEVELS["filter"]) as launcher:
        for source, _ in ANSWERS.values():
            session = Grader(launcher).session(replace(RING, rules=()), cells(source))
            case = list(RING.cases(np.random.default_rng(0)))[2]
            for index in range(len(session.trial(case).trace.messages)):
                assert session.findings_of_change(Perturbation(index, 47, index), case) == (True, [])


def test_a_change_reaches_exactly_those_downstream():
    """On a ring of 3, the message of the last step reaches its receiver alone, one of the first step everybody."""
    if protection.best_level() == "unsafe":
        pytest.skip("no isolation on this system")

    with Launcher(protection.LEVELS["filter"]) as launcher:
        session = Grader(launcher).session(RING, cells(ANSWERS["chunks"][0]))
        case = list(RING.cases(np.random.default_rng(0)))[2]
        first, last = (session.trial(case, Perturbation(index, 47)) for index in (0, 11))
        assert first.downstream == {0, 1, 2}
        assert last.downstream == {last.change.receiver}


def test_what_is_right_within_the_tolerance_shows_no_change():
    case = Case(2, [(), ()], [torch.tensor([1.0, 0.0]), torch.tensor([2.0])])
    values = [torch.tensor([1.0001, 0.5]), torch.tensor([2.5])]
    assert [each.tolist() for each in flat_differences(case, values, 0.01)] == [[0.0, 0.5], [0.5]]
    assert next(flat_differences(case, values))[0] > 0
