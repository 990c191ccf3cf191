"""A training that goes on from a state makes the same weights, to the last bit; with any part forgotten it does not."""

import random

import numpy as np
import pytest
import torch

from course_lib.data_parallel import state_hash
from course_lib.faults import DataOrder, Training, random_states, restore_random_states, snapshot
from course_lib.faults.checkpoint_files import pack_state
from course_lib.tasks import load_digits

STOP, END = 30, 60


@pytest.fixture(scope="module")
def digits():
    return load_digits()


def train(training: Training, until: int) -> Training:
    while training.step < until:
        training.train_step()
    return training


@pytest.fixture(scope="module")
def whole(digits) -> tuple[dict, str]:
    """The state in the middle of a training, and the hash of the weights at its end."""
    training = train(Training(digits), STOP)
    state = snapshot(training.state_dict())
    return state, state_hash(train(training, END).model)


def test_a_training_that_goes_on_makes_the_weights_of_one_that_was_never_stopped(digits, whole):
    state, expected = whole
    training = Training(digits, seed=5)  # another start: all that matters must come from the state
    training.data.seed = 0
    training.load_state_dict(state)
    assert state_hash(train(training, END).model) == expected


@pytest.mark.parametrize("forgotten", ["model", "optimizer", "schedule", "scaler", "data", "python", "numpy", "torch"])
def test_a_training_that_forgets_one_part_makes_other_weights(digits, whole, forgotten):
    state, expected = whole
    training = Training(digits)
    training.load_state_dict({name: part for name, part in state.items() if name != forgotten}, strict=False)
    assert state_hash(train(training, END).model) != expected


def test_a_missing_part_is_refused_by_name(digits, whole):
    part = {name: part for name, part in whole[0].items() if name not in ("scaler", "numpy")}
    with pytest.raises(ValueError, match="the state has no scaler, numpy"):
        Training(digits).load_state_dict(part)


def test_random_states_go_on_where_they_were():
    def draws():
        return random.random(), float(np.random.rand()), torch.rand(3).tolist(), float(np.random.randn())  # noqa: NPY002

    before = random_states()
    first = draws(), draws()
    restore_random_states(before)
    assert (draws(), draws()) == first


@pytest.mark.parametrize(("length", "batch_size"), [(10, 3), (4, 4), (3, 5), (1, 1)])
def test_every_epoch_holds_every_example_once_wherever_it_was_stopped(length, batch_size):
    order = DataOrder(length, batch_size)
    taken: dict[int, list[int]] = {}
    while order.epoch < 3:
        epoch = order.epoch
        taken.setdefault(epoch, []).extend(order.next_batch().tolist())
        going_on = DataOrder(length, batch_size)
        going_on.load_state_dict(order.state_dict())
        order = going_on
    assert [sorted(examples) for examples in taken.values()] == [list(range(length))] * 3


def test_a_place_outside_the_data_is_refused():
    with pytest.raises(ValueError, match="taken must be from 0 to 4, got 5"):
        DataOrder(5, 2).load_state_dict({"epoch": 0, "taken": 5})
    with pytest.raises(ValueError, match="at least 1, got 0 and 2"):
        DataOrder(0, 2)


@pytest.mark.parametrize("forgotten", [None, "model", "optimizer", "schedule", "scaler", "data", "torch"])
def test_a_state_that_was_loaded_and_trained_on_from_is_still_what_it_was(digits, forgotten):
    first = Training(digits)
    for _ in range(4):
        first.train_step()
    saved = {name: part for name, part in snapshot(first.state_dict()).items() if name != forgotten}
    before = pack_state(saved)
    losses = []
    for _ in range(2):  # the second one begins where the first one began
        second = Training(digits)
        second.load_state_dict(saved, strict=False)
        losses.append([second.train_step() for _ in range(6)])
        assert pack_state(saved) == before
    assert losses[0] == losses[1]
