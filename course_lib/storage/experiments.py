"""Experiments of chapter 11: training in a poor order, and gradients and data that share one network."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from course_lib.collectives import ring_all_reduce
from course_lib.comm import Communicator, Network
from course_lib.storage.sampling import epoch_order
from course_lib.tasks import Classifier, Digits


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


@dataclass(frozen=True)
class SharedStep:
    """What every training rank does in a step, all of it at once: compute, average gradients, fetch the next batch."""

    gradient_bytes: int
    batch_bytes: int
    compute_s: float
    pieces: int = 1  # messages that a batch is sent in


def train_beside_storage(comm: Communicator, step: SharedStep, steps: int = 4, device: str = "cpu") -> float:
    """Seconds of a step: the last rank sends every other its batches, the others train.

    The all-reduce begins with the step, as if overlap were perfect; the next batch is on its way meanwhile.

    Raises:
        ValueError: if there is no rank beside the storage.
    """
    if comm.world_size < 2:
        raise ValueError(f"a storage and a trainer need 2 ranks, got {comm.world_size}")
    trainers = comm.world_size - 1
    pieces = torch.empty(step.batch_bytes, dtype=torch.uint8, device=device).chunk(step.pieces)
    if comm.rank == trainers:
        for _ in range(steps + 2):
            for work in [comm.isend(piece, trainer) for piece in pieces for trainer in range(trainers)]:
                work.wait()
        return 0.0
    gradients = torch.empty(step.gradient_bytes // 4, device=device)
    for piece in pieces:
        comm.recv(piece, trainers)
    start_s = 0.0
    for number in range(steps + 1):
        if number == 1:  # the first step waits for those who got their first batch last
            start_s = comm.now()
        loading = [comm.irecv(piece, trainers) for piece in pieces]
        averaging = comm.start(lambda background: ring_all_reduce(background.group(range(trainers)), gradients))
        comm.compute(step.compute_s)
        for work in [averaging, *loading]:
            work.wait()
    return (comm.now() - start_s) / steps


def shared_step_seconds(step: SharedStep, trainers: int, network: Network) -> dict[str, float]:
    """What a step takes at least, by each of its parts; the longest is what gives way first.

    "trainer's port": a batch and a ring's gradients come in by one port, one after the other.
    "storage's port": the batches of all trainers go out by one.
    """
    ring_s = 2 * (trainers - 1) * network.seconds(0, 1, step.gradient_bytes / trainers)
    batch_s = network.seconds(0, 1, step.batch_bytes)
    return {"compute": step.compute_s, "trainer's port": ring_s + batch_s, "storage's port": trainers * batch_s}
