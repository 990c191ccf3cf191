"""What the order of the samples does to training: digits that lie sorted by class."""

from __future__ import annotations

import torch

from course_lib.storage.shuffling import epoch_order
from course_lib.tasks import Classifier, Digits

__all__ = ["train_in_order"]


def train_in_order(
    digits: Digits,
    *,
    shuffle_shards: bool,
    buffer: int,
    by_class: bool = True,
    shard_samples: int = 48,
    epochs: int = 5,
    batch: int = 32,
    rate: float = 0.2,
    seed: int = 0,
) -> float:
    """Accuracy on the test part after plain SGD on training digits that lie in shards.

    One thread: a batch this small gives two nothing to share.

    Args:
        buffer: samples that wait; as many as the training part has is a perfect shuffle.
        by_class: all zeros were written first, then all ones; else they were shuffled before they were written.
    """
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    inputs, labels = digits.train_inputs, digits.train_labels
    if by_class:
        written = labels.argsort(stable=True)
        inputs, labels = inputs[written], labels[written]
    model = Classifier(hidden=32)
    parameters = model.initial(seed)
    try:
        for epoch in range(epochs):
            order = epoch_order(
                len(labels), shard_samples, shuffle_shards=shuffle_shards, buffer=buffer, seed=1000 * seed + epoch
            )
            for chosen in torch.tensor(order).split(batch):
                parameters -= rate * model.gradient(parameters, inputs[chosen], labels[chosen])
    finally:
        torch.set_num_threads(threads)
    return model.accuracy(parameters, digits.test_inputs, digits.test_labels)
