"""1-bit Adam: Adam itself until the variance stands still, then one bit a number; alike on all ranks."""

import pytest
import torch
from torch import nn
from torch.nn import functional

from course_lib import run, simulate
from course_lib.compression import OneBitAdam
from course_lib.tasks import digit_batches, digits_model


def trained(comm, warm_up_steps: int, steps: int = 6) -> torch.Tensor:
    """All weights after some steps on this rank's own digits."""
    module = digits_model()
    step = OneBitAdam(module, warm_up_steps=warm_up_steps, rate=0.01)
    batches = digit_batches(8, rank=comm.rank)
    for _ in range(steps):
        inputs, labels = next(batches)
        module.zero_grad()
        functional.cross_entropy(module(inputs), labels).backward()
        step(comm)
    return nn.utils.parameters_to_vector(module.parameters()).detach()


@pytest.mark.parametrize("world_size", [1, 2, 3])
def test_while_it_warms_up_it_is_pytorchs_adam_on_the_joined_batch(world_size: int) -> None:
    module = digits_model()
    theirs = torch.optim.Adam(module.parameters(), lr=0.01)
    batches = [digit_batches(8, rank=rank) for rank in range(world_size)]
    for _ in range(6):
        inputs, labels = (torch.cat(parts) for parts in zip(*map(next, batches), strict=True))
        module.zero_grad()
        functional.cross_entropy(module(inputs), labels).backward()
        theirs.step()
    weights = nn.utils.parameters_to_vector(module.parameters()).detach()
    assert torch.allclose(simulate(trained, world_size, (6,)).results[0], weights, atol=1e-5)


@pytest.mark.parametrize("world_size", [1, 2, 3])
def test_all_ranks_keep_the_same_weights(world_size: int) -> None:
    first, *others = simulate(trained, world_size, (2,)).results
    assert all(torch.equal(first, other) for other in others)
    assert torch.equal(run(trained, world_size, (2,)).results[0], first)


@pytest.mark.parametrize("warm_up_steps", [1, 3, 6])
def test_after_the_warm_up_a_step_sends_a_32nd(warm_up_steps: int) -> None:
    sent = simulate(trained, 2, (warm_up_steps,)).trace.bytes_sent[0]
    numbers = sum(parameter.numel() for parameter in digits_model().parameters())
    in_full, in_one_bit = 4 * numbers, 2 * (8 + -(-numbers // 2 // 8))
    assert sent == warm_up_steps * in_full + (6 - warm_up_steps) * in_one_bit


def test_what_never_had_a_gradient_stays_where_it_is() -> None:
    # Some pixels are 0 in every digit. One bit would send a number for their weights, too, and a step over a variance
    # of 0 would have no end.
    weights = simulate(trained, 2, (6,)).results[0][: 32 * 64].view(32, 64)
    first = digits_model()[0].weight.detach()
    dark = (weights == first).all(0)
    assert 0 < dark.sum() < 64
    later = simulate(trained, 2, (2,)).results[0][: 32 * 64].view(32, 64)
    assert torch.equal(later[:, dark], first[:, dark])


def test_without_a_warm_up_there_is_no_variance() -> None:
    with pytest.raises(ValueError, match="warm_up_steps must be at least 1, got 0"):
        OneBitAdam(digits_model(), warm_up_steps=0)
