"""The digits: where they are from, what they look like, and that they are the same for everyone."""

import subprocess
import sys
from itertools import islice

import pytest
import torch
from sklearn import datasets

from course_lib.tasks import digit_batches, load_digits


def test_digits_are_split_without_a_shared_image():
    digits = load_digits()
    assert len(digits.train_labels) + len(digits.test_labels) == 1797
    assert digits.train_inputs.min() == 0
    assert digits.train_inputs.max() == 1
    assert sorted(digits.test_labels.unique().tolist()) == list(range(10))


def test_digits_are_those_of_scikit_learn_which_is_not_imported_for_them():
    theirs, ours = datasets.load_digits(), load_digits(train_length=1796)
    order = torch.randperm(1797, generator=torch.Generator().manual_seed(0))
    assert torch.equal(16 * ours.train_inputs.double(), torch.tensor(theirs.data)[order[:-1]])
    assert torch.equal(ours.train_labels, torch.tensor(theirs.target)[order[:-1]])
    program = "import sys; from course_lib.tasks import load_digits; load_digits(); sys.exit('sklearn' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program]).returncode == 0  # a second for every process that trains


def test_the_same_seed_gives_the_same_split_and_another_seed_another():
    assert torch.equal(load_digits(seed=3).train_labels, load_digits(seed=3).train_labels)
    assert not torch.equal(load_digits(seed=3).train_labels, load_digits(seed=4).train_labels)


def test_digits_that_somebody_changes_are_as_before_for_the_next():
    load_digits().train_inputs.zero_()
    assert load_digits().train_inputs.max() == 1


def test_batches_are_drawn_from_the_training_images():
    digits = load_digits(train_length=3)
    for inputs, labels in islice(digit_batches(4, digits=digits), 5):
        for image, label in zip(inputs, labels, strict=True):
            found = (digits.train_inputs == image).all(1).nonzero().flatten()
            assert len(found) == 1
            assert label == digits.train_labels[found[0]]


@pytest.mark.parametrize("length", [0, 1797])
def test_a_part_without_images_is_refused(length):
    with pytest.raises(ValueError, match=f"got {length}"):
        load_digits(train_length=length)
