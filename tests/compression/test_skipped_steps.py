"""Rule: a step that is skipped leaves no trace in what is kept, in none of its rows, and no scale of an older loss."""

import pytest
import torch
from torch import nn

from course_lib import simulate
from course_lib.collectives import ring_all_reduce
from course_lib.compression import (
    CompressedAllReduce,
    CompressedSums,
    OneBit,
    PowerSGD,
    TopK,
)
from course_lib.data_parallel import DataParallel
from course_lib.data_parallel.averaging import numbered

KINDS = {
    "top-k": lambda model: CompressedAllReduce(TopK(0.3)),
    "one bit": lambda model: CompressedAllReduce(OneBit()),
    "sums in one bit": lambda model: CompressedSums(OneBit()),
    "PowerSGD": lambda model: PowerSGD(model.parameters(), rank=1),
}


def made(comm, kind):
    """Four buckets: a matrix or a bias each."""
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(6, 6), nn.Linear(6, 6))
    all_reduce = KINDS[kind](model)
    return model, all_reduce, DataParallel(comm, model, bucket_bytes=1, all_reduce=all_reduce)


def backward(comm, wrapped, step, scale=1.0, bad=None):
    x = torch.randn(4, 6, generator=torch.Generator().manual_seed(10 * step + comm.rank))
    for parameter in wrapped.parameters():
        parameter.grad = None
    loss = wrapped(x).square().mean() * scale
    if bad is not None and comm.rank == 1:
        loss = loss + list(wrapped.parameters())[bad].sum() * float("inf")
    loss.backward()


def gradients(model):
    return [parameter.grad.clone() for parameter in model.parameters()]


def alike(ours, theirs):
    return all(torch.equal(a, b) for a, b in zip(ours, theirs, strict=True))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("bad", [0, 1, 2, 3])  # which parameter, and so whose bucket, first, in the middle and last
def test_an_overflow_in_one_bucket_is_one_in_all(kind, bad):
    def program(comm):
        (one, _, first), (other, _, second) = made(comm, kind), made(comm, kind)
        for step in (0, 1, 2, 3):
            if step == 2:
                backward(comm, first, 7, bad=bad)  # the step that is skipped
                backward(comm, first, 8, bad=(bad + 1) % 4)
            for wrapped in (first, second):
                backward(comm, wrapped, step)
        return alike(gradients(one), gradients(other))

    assert simulate(program, 2).results == [True, True]


@pytest.mark.parametrize("kind", KINDS)
def test_a_step_that_somebody_else_skips_can_be_forgotten(kind):
    def program(comm):
        (one, all_reduce, first), (other, _, second) = made(comm, kind), made(comm, kind)
        for step in (0, 1):
            for wrapped in (first, second):
                backward(comm, wrapped, step)
            if step == 0:
                backward(comm, first, 9)
                all_reduce.forget_step()
                all_reduce.forget_step()  # twice is once
        return alike(gradients(one), gradients(other))

    assert simulate(program, 2).results == [True, True]


@pytest.mark.parametrize("kind", KINDS)
def test_a_loss_scale_that_changes_changes_nothing_where_it_is_said(kind):
    def program(comm):
        (one, all_reduce, first), (other, _, second) = made(comm, kind), made(comm, kind)
        for step, scale in enumerate([1.0, 8.0, 2.0, 2.0, 2.0**-4]):
            all_reduce.scale = scale
            backward(comm, first, step, scale)
            backward(comm, second, step)
            for parameter in one.parameters():
                parameter.grad /= scale
        state = all_reduce.state_dict()
        fresh = KINDS[kind](other)
        fresh.load_state_dict(state)
        return [
            torch.allclose(a, b, rtol=1e-4, atol=1e-6) for a, b in zip(gradients(one), gradients(other), strict=True)
        ], fresh.scale

    assert simulate(program, 2).results == [([True] * 4, 2.0**-4)] * 2


def test_what_arrived_and_what_is_kept_are_all_gradients_but_the_skipped_ones():
    """The law of error feedback, over steps of which some overflow: in numbers that add exactly."""

    def program(comm):
        all_reduce, total, arrived = CompressedAllReduce(TopK(0.25)), torch.zeros(2, 8), torch.zeros(2, 8)
        for step in range(12):
            generator = torch.Generator().manual_seed(100 * step + comm.rank)
            rows = torch.randint(-99, 99, (2, 8), generator=generator).float()
            if step % 4 == 2 and comm.rank == step % 2:
                rows[step // 4 % 2, 3] = float("inf")
            exact = rows.clone()
            ring_all_reduce(comm, exact)
            for number in range(2):
                all_reduce(comm, numbered(rows[number], number))
            if rows.isfinite().all():
                total, arrived = total + exact, arrived + rows
        left = torch.stack([all_reduce.residuals[number] for number in range(2)])
        ring_all_reduce(comm, left)
        return torch.equal(total, arrived + left)

    assert simulate(program, 3).results == [True] * 3
