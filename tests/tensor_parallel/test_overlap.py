"""A product beside a ring's steps has the numbers, the bytes and the gradients of one behind the ring, and hides it."""

import pytest
import torch
from torch.nn.functional import gelu

from course_lib import Network, RankError, run, simulate
from course_lib.tensor_parallel import (
    TORCHTITAN_ASYNC,
    exposed_share,
    gather_product,
    gather_sequence,
    max_speed_up,
    overlapped_seconds,
    product_over_message,
    product_scatter,
    scatter_sequence,
    speed_up_by_chunks,
)

NETWORK = Network(latency_s=0.5, bytes_per_s=96)
X, Y_GRAD = torch.randn(2, 2, 12, 12, generator=torch.Generator().manual_seed(0)).double()
UP = torch.randn(24, 12, generator=torch.Generator().manual_seed(1)).double()
DOWN = torch.randn(12, 24, generator=torch.Generator().manual_seed(2)).double()


def mlp(comm):
    x, y_grad = (whole.chunk(comm.world_size, 1)[comm.rank].clone() for whole in (X, Y_GRAD))
    up, down = UP.chunk(comm.world_size)[comm.rank].clone(), DOWN.chunk(comm.world_size, 1)[comm.rank].clone()
    leaves = [leaf.requires_grad_() for leaf in (x, up, down)]
    y = product_scatter(comm, gelu(gather_product(comm, x, up)), down)
    y.backward(y_grad)
    return y.detach(), *(leaf.grad for leaf in leaves)


def check(results):
    leaves = [leaf.clone().requires_grad_() for leaf in (X, UP, DOWN)]
    y = gelu(leaves[0] @ leaves[1].T) @ leaves[2].T
    y.backward(Y_GRAD)
    for found, whole, dim in zip(
        zip(*results, strict=True), [y.detach(), *(leaf.grad for leaf in leaves)], [1, 1, 0, 1], strict=True
    ):
        torch.testing.assert_close(torch.cat(found, dim), whole, rtol=0, atol=1e-12)


def one_product(comm, way, product_s, places=6):
    part, whole = torch.ones(1, places, 4), torch.ones(1, places * comm.world_size, 3)
    if way == "gathered first":
        gather_sequence(comm, part)
        comm.compute(product_s)
    elif way == "summed last":
        comm.compute(product_s)
        scatter_sequence(comm, torch.ones(1, places * comm.world_size, 4))
    elif way == "beside a gather":
        gather_product(comm, part, torch.ones(5, 4), product_s)
    else:
        product_scatter(comm, whole, torch.ones(4, 3), product_s)


def test_by_hand_two_ranks_sum_the_products_of_their_inputs():
    def program(comm):
        rows = torch.tensor([[[1.0], [2.0]]]) * (comm.rank + 1)  # [b, t, i / p]
        return product_scatter(comm, rows, torch.tensor([[10.0]])).tolist()

    assert simulate(program, 2).results == [[[[30.0]]], [[[60.0]]]]


@pytest.mark.parametrize("world_size", [1, 2, 3, 4, 6])
def test_an_mlp_and_its_gradients_are_those_of_one_process(world_size):
    check(simulate(mlp, world_size).results)


def test_real_processes_do_the_same():
    check(run(mlp, 3).results)


@pytest.mark.parametrize("world_size", [1, 2, 3, 8])
@pytest.mark.parametrize("product_s", [0.0, 1.0, 12.0])
@pytest.mark.parametrize("way", ["beside a gather", "beside a sum"])
def test_a_step_takes_the_longer_of_its_product_and_its_message(world_size, product_s, way):
    report = simulate(one_product, world_size, args=(way, product_s), network=NETWORK)
    expected = overlapped_seconds(NETWORK, world_size=world_size, part_bytes=96, product_s=product_s)
    assert report.seconds == pytest.approx(expected, abs=1e-9)
    assert report.trace.bytes_sent == [96 * (world_size - 1)] * world_size


@pytest.mark.parametrize("way", ["gathered first", "summed last"])
def test_one_after_the_other_takes_the_sum_of_both(way):
    assert simulate(one_product, 4, args=(way, 8.0), network=NETWORK).seconds == pytest.approx(8 + 3 * 1.5)


def test_empty_parts_and_empty_weights_pass():
    simulate(one_product, 3, args=("beside a gather", 0.0, 0))
    simulate(one_product, 3, args=("beside a sum", 0.0, 0))


def test_a_sequence_that_the_ranks_do_not_divide_is_refused():
    with pytest.raises(RankError, match="2 ranks must divide the sequence, got 5 places"):
        simulate(lambda comm: product_scatter(comm, torch.ones(1, 5, 3), torch.ones(4, 3)), 2)


def test_published_speed_ups_lie_below_what_can_be_hidden():
    for row in TORCHTITAN_ASYNC.values():
        published = row.overlapped_tokens_per_s / row.tokens_per_s
        assert 1 < published < speed_up_by_chunks(row) <= max_speed_up(row)
        assert 0.17 < exposed_share(row) < 0.18


def test_products_of_few_numbers_a_rank_do_not_hide_their_message():
    ratios = product_over_message(TORCHTITAN_ASYNC["8B"])
    assert [round(ratio, 1) for ratio in ratios.values()] == [1.0, 0.7, 4.6, 2.3]
