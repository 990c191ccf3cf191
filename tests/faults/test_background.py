"""What is saved beside the training is the state of one moment, and a save that fails is heard of."""

import collections
import threading

import numpy as np
import pytest
import torch

from course_lib.faults import BackgroundSaver, snapshot

Pair = collections.namedtuple("Pair", "a b")


def test_a_snapshot_shares_no_memory():
    state = {"weights": torch.ones(3), "list": [torch.zeros(2)], "pair": (1, torch.ones(1)), "step": 4}
    copy = snapshot(state)
    for tensor in (state["weights"], state["list"][0], state["pair"][1]):
        tensor += 1
    assert copy["weights"].tolist() == [1, 1, 1]
    assert copy["list"][0].tolist() == [0, 0]
    assert copy["pair"] == (1, torch.ones(1))
    assert copy["step"] == 4


def test_a_snapshot_keeps_kinds_and_ties_and_copies_what_numpy_holds():
    row = torch.ones(4)
    state = {"a": row, "tied": row.view(4), "half": row[:2], "pair": Pair(np.zeros(2), {1}), "size": row.shape}
    copy = snapshot(state)
    row += 1
    state["pair"].a[0] = 7
    state["pair"].b.add(2)
    assert (copy["pair"].a.tolist(), copy["pair"].b) == ([0, 0], {1})
    assert (type(copy["pair"]), copy["size"]) == (Pair, torch.Size([4]))
    assert copy["a"].tolist() == [1, 1, 1, 1]
    copy["a"] += 4
    assert copy["tied"].tolist() == [5, 5, 5, 5]
    assert copy["half"].tolist() == [1, 1]


def test_a_snapshot_of_empty_and_sparse_tensors_is_of_their_kind():
    kinds = [torch.zeros(0), torch.zeros(0, 3), torch.eye(2).to_sparse()]
    copies = snapshot(kinds)
    assert [copy.shape for copy in copies] == [kind.shape for kind in kinds]
    assert [copy.layout for copy in copies] == [kind.layout for kind in kinds]


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


def test_a_saver_may_be_used_again_and_without_with():
    saved = []
    saver = BackgroundSaver(lambda step, state: saved.append(step))
    for step in range(3):
        with saver:
            saver.save(step, {})
    saver.save(3, {})
    saver.wait()
    with saver:
        pass
    assert saved == [0, 1, 2, 3]
