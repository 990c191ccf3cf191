"""The course's data: where it is from, what it looks like, and that it is the same for everyone."""

import pytest
import torch

from course_lib.datasets import load_digits, load_source_text


def test_digits_are_split_without_a_shared_image():
    digits = load_digits()
    assert len(digits.train_labels) + len(digits.test_labels) == 1797
    assert digits.train_inputs.min() == 0
    assert digits.train_inputs.max() == 1
    assert sorted(digits.test_labels.unique().tolist()) == list(range(10))


def test_the_same_seed_gives_the_same_split_and_another_seed_another():
    assert torch.equal(load_digits(seed=3).train_labels, load_digits(seed=3).train_labels)
    assert not torch.equal(load_digits(seed=3).train_labels, load_digits(seed=4).train_labels)


@pytest.mark.parametrize("length", [0, 1797])
def test_a_part_without_images_is_refused(length):
    with pytest.raises(ValueError, match=f"got {length}"):
        load_digits(train_length=length)


def test_the_text_is_pythons_own_source():
    assert len(load_source_text(50_000)) == 50_000
    assert "def " in load_source_text(50_000)
    with pytest.raises(ValueError, match="were asked for"):
        load_source_text(10**9)
