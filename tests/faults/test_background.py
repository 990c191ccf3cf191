"""What is saved beside the training is the state of one moment, and a save that fails is heard of."""

import threading

import pytest
import torch

from course_lib.faults import BackgroundSaver, snapshot


def test_a_snapshot_shares_no_memory():
    state = {"weights": torch.ones(3), "list": [torch.zeros(2)], "pair": (1, torch.ones(1)), "step": 4}
    copy = snapshot(state)
    for tensor in (state["weights"], state["list"][0], state["pair"][1]):
        tensor += 1
    assert copy["weights"].tolist() == [1, 1, 1]
    assert copy["list"][0].tolist() == [0, 0]
    assert copy["pair"] == (1, torch.ones(1))
    assert copy["step"] == 4


def saved_while_training_goes_on(copies: bool) -> list[float]:
    weights, changed, saved = torch.zeros(2), threading.Event(), []

    def save(step, state):
        first = state["weights"][0].item()
        assert changed.wait(10)
        saved.extend([first, state["weights"][1].item()])

    with BackgroundSaver(save, copies) as saver:
        saver.save(1, {"weights": weights})
        weights += 1
        changed.set()
    return saved


def test_what_is_saved_is_of_one_moment_only_with_a_copy():
    assert saved_while_training_goes_on(copies=True) == [0, 0]
    assert saved_while_training_goes_on(copies=False)[1] == 1


def test_saves_go_one_after_another_and_none_is_left_out():
    saved = []
    with BackgroundSaver(lambda step, state: saved.append(step)) as saver:
        for step in range(5):
            saver.save(step, {})
    assert saved == [0, 1, 2, 3, 4]


def test_a_save_that_failed_is_raised_at_the_next_one():
    def full(step, state):
        raise OSError("no space left")

    saver = BackgroundSaver(full)
    saver.save(1, {})
    with pytest.raises(OSError, match="no space left"):
        saver.save(2, {})
    saver.save(3, {})
    with pytest.raises(OSError, match="no space left"), saver:
        pass
