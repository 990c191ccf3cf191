"""Convolutions split by regions and by channels: the same numbers as on one rank, bytes as the formula says."""

from itertools import product

import pytest
import torch
from torch.nn.functional import conv2d

from course_lib import RankError, run, simulate
from course_lib.model_parallel import (
    VGG16,
    ConvShape,
    InputChannelConv2d,
    OutputChannelConv2d,
    RegionConv2d,
    RowKernel,
    Rows,
    conv_traffic,
    gather,
    halo_plan,
    needed_rows,
    own_part,
    owned_rows,
)


def whole(*shape: int) -> torch.Tensor:
    return torch.randint(-9, 10, shape, generator=torch.Generator().manual_seed(sum(shape))).double()


def on_one_rank(x, weight, bias, y_grad, **geometry):
    """Output and gradients by torch's own autograd."""
    leaves = [tensor.clone().requires_grad_() for tensor in (x, weight, bias)]
    y = conv2d(*leaves, **geometry)
    y.backward(y_grad)
    return y.detach(), *(leaf.grad for leaf in leaves)


def by_regions(comm, x, weight, bias, y_grad, geometry):
    layer = RegionConv2d(comm, weight, bias, x.shape[2], **geometry)
    y = layer.forward(own_part(comm, x, 2))
    return y, layer.backward(own_part(comm, y_grad, 2)), layer.weight_grad, layer.bias_grad


def test_a_kernel_of_three_rows_borrows_one_row_from_each_neighbor():
    plan = halo_plan(9, RowKernel(size=3, padding=1), world_size=3)
    assert [(src, dst, *rows) for src, dst, rows in plan] == [
        (1, 0, 3, 4),
        (0, 1, 2, 3),
        (2, 1, 6, 7),
        (1, 2, 5, 6),
    ]


def test_a_stride_of_two_needs_its_halo_on_one_side_only():
    # Rows 0-3 and 4-7. Output row i is made of rows 2i - 1, 2i and 2i + 1: rank 1 needs 3 to 7, rank 0 nothing.
    plan = halo_plan(8, RowKernel(size=3, stride=2, padding=1), world_size=2)
    assert [(src, dst, *rows) for src, dst, rows in plan] == [(0, 1, 3, 4)]


def test_a_halo_that_is_larger_than_a_region_comes_from_several_ranks():
    plan = halo_plan(4, RowKernel(size=7, padding=3), world_size=4)
    assert {(src, dst) for src, dst, _ in plan} == {(src, dst) for src in range(4) for dst in range(4) if src != dst}


CASES = [
    (height, size, stride, padding, dilation)
    for height, size, stride, padding, dilation in product((1, 5, 8, 13), (1, 2, 3, 5), (1, 2, 3), (0, 1, 2), (1, 2))
    if height + 2 * padding > dilation * (size - 1)
]


@pytest.mark.parametrize("world_size", [1, 2, 3, 4])
def test_every_rank_has_each_row_that_it_needs_and_gets_none_twice(world_size):
    for height, *kernel in CASES:
        rows = RowKernel(*kernel)
        owned, outputs = owned_rows(height, world_size), owned_rows(rows.output_height(height), world_size)
        plan = halo_plan(height, rows, world_size)
        for rank, output in enumerate(outputs):
            needs = needed_rows(output, rows).overlap(Rows(0, height))
            here = needs.overlap(owned[rank])
            got = [*range(*here), *(row for src, dst, lent in plan if dst == rank for row in range(*lent))]
            assert sorted(got) == list(range(*needs))


def test_the_plan_of_twice_the_ranks_takes_twice_the_steps(monkeypatch):
    calls, overlap = [], Rows.overlap
    monkeypatch.setattr(Rows, "overlap", lambda rows, other: calls.append(1) or overlap(rows, other))
    taken = []
    for ranks in (64, 128):
        assert len(halo_plan(8 * ranks, RowKernel(size=3, padding=1), ranks)) == 2 * (ranks - 1)
        taken.append(len(calls))
        calls.clear()
    assert taken[1] <= 2.1 * taken[0]


@pytest.mark.parametrize("case", CASES[::7], ids=str)
@pytest.mark.parametrize("world_size", [2, 4])
def test_regions_compute_what_one_rank_does(world_size, case):
    height, size, stride, padding, dilation = case
    geometry = {"stride": stride, "padding": padding, "dilation": dilation}
    x, weight, bias = whole(2, 3, height, 9), whole(4, 3, size, size), whole(4)
    y_grad = whole(*conv2d(x, weight, bias, **geometry).shape)
    expected = on_one_rank(x, weight, bias, y_grad, **geometry)
    y, x_grad, weight_grads, bias_grads = zip(
        *simulate(by_regions, world_size, args=(x, weight, bias, y_grad, geometry)).results, strict=True
    )
    assert torch.equal(torch.cat(y, 2), expected[0])
    assert torch.equal(torch.cat(x_grad, 2), expected[1])
    for grad in weight_grads:
        assert torch.equal(grad, expected[2])
    for grad in bias_grads:
        assert torch.equal(grad, expected[3])


def test_real_processes_exchange_halos():
    x, weight, bias, y_grad = whole(1, 2, 8, 8), whole(3, 2, 3, 3), whole(3), whole(1, 3, 8, 8)
    results = run(by_regions, 2, args=(x, weight, bias, y_grad, {"padding": 1})).results
    expected = on_one_rank(x, weight, bias, y_grad, padding=1)
    assert torch.equal(torch.cat([part[0] for part in results], 2), expected[0])
    assert torch.equal(torch.cat([part[1] for part in results], 2), expected[1])


@pytest.mark.parametrize("world_size", [1, 2, 3])
@pytest.mark.parametrize("geometry", [{"padding": 1}, {"stride": 2}, {"dilation": 2, "padding": 2}], ids=str)
def test_channels_compute_what_one_rank_does(world_size, geometry):
    x, weight, bias = whole(2, 5, 7, 7), whole(4, 5, 3, 3), whole(4)
    y_grad = whole(*conv2d(x, weight, bias, **geometry).shape)

    def program(comm):
        outputs = OutputChannelConv2d(comm, weight, bias, **geometry)
        y = gather(comm, outputs.forward(x), 1, 4)
        x_grad = outputs.backward(own_part(comm, y_grad, 1))
        inputs = InputChannelConv2d(comm, weight, bias, **geometry)
        y_again = inputs.forward(own_part(comm, x, 1))
        x_grad_again = gather(comm, inputs.backward(y_grad), 1, 5)
        return (y, x_grad), (y_again, x_grad_again), outputs.weight_grad, inputs.weight_grad

    expected = on_one_rank(x, weight, bias, y_grad, **geometry)
    results = simulate(program, world_size).results
    for first, again, *_ in results:
        for y, x_grad in (first, again):
            assert torch.equal(y, expected[0])
            assert torch.equal(x_grad, expected[1])
    assert torch.equal(torch.cat([result[2] for result in results]), expected[2])
    assert torch.equal(torch.cat([result[3] for result in results], 1), expected[2])


@pytest.mark.parametrize("world_size", [1, 2, 4])
def test_the_formula_says_every_byte(world_size):
    shape = ConvShape("conv", 5, 4, height=9, kernel=3, padding=1)
    x, weight, bias, y_grad = whole(2, 5, 9, 9), whole(4, 5, 3, 3), whole(4), whole(2, 4, 9, 9)

    def by_output_channels(comm):
        layer = OutputChannelConv2d(comm, weight, bias, padding=1)
        gather(comm, layer.forward(x), 1, 4)
        layer.backward(own_part(comm, y_grad, 1))

    def by_input_channels(comm):
        layer = InputChannelConv2d(comm, weight, bias, padding=1)
        layer.forward(own_part(comm, x, 1))
        gather(comm, layer.backward(y_grad), 1, 5)

    def by_rows(comm):
        by_regions(comm, x, weight, bias, y_grad, {"padding": 1})

    programs = {"regions": by_rows, "output channels": by_output_channels, "input channels": by_input_channels}
    for split, program in programs.items():
        traffic = conv_traffic(split, shape, batch=2, world_size=world_size, element_bytes=8)
        sent = [forward + backward for forward, backward in zip(*traffic, strict=True)]
        assert simulate(program, world_size).trace.bytes_sent == sent, split


def test_in_a_real_network_channels_move_a_hundred_times_what_regions_do():
    regions, channels = (
        conv_traffic(split, VGG16[1], batch=32, world_size=4).busiest_bytes for split in ("regions", "output channels")
    )
    assert channels > 100 * regions


def test_what_does_not_fit_is_refused():
    with pytest.raises(ValueError, match="a picture of 2 rows is too low for RowKernel"):
        RowKernel(size=5).output_height(2)
    with pytest.raises(ValueError, match=r"split must be one of examples, regions, .*, got 'pixels'"):
        conv_traffic("pixels", VGG16[0], batch=1, world_size=1)

    with pytest.raises(RankError, match="4 ranks cannot share 3 input channels"):
        simulate(lambda comm: InputChannelConv2d(comm, whole(4, 3, 1, 1), whole(4)), 4)

    def wrong_part(comm):
        RegionConv2d(comm, whole(1, 1, 3, 3), whole(1), 8, padding=1).forward(whole(1, 1, 8, 8))

    with pytest.raises(RankError, match="has 4 of 8 rows, got 8"):
        simulate(wrong_part, 2)
