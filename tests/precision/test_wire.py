"""Gradients in 16 bits: half the bytes, on the simulator and on real processes, in our wrapper and in DDP."""

import pytest
import torch
from torch import nn
from torch.distributed.algorithms.ddp_comm_hooks.default_hooks import fp16_compress_hook
from torch.nn.parallel import DistributedDataParallel

from course_lib import run, simulate
from course_lib.collectives import ring_all_reduce_cost, tree_all_reduce
from course_lib.data_parallel import DataParallel
from course_lib.precision import all_reduce_at_owners, all_reduce_in
from course_lib.precision.experiments.gradients import gradients_of_ranks
from course_lib.tasks import digit_batches, digits_model

HALVES = [torch.float16, torch.bfloat16]
WAYS = {
    "ring": all_reduce_in,
    "tree": lambda dtype: all_reduce_in(dtype, tree_all_reduce),
    "owners": all_reduce_at_owners,
}


def sums(comm, all_reduce, length: int) -> torch.Tensor:
    """Every rank's whole numbers below 2⁸ / ranks, so that all sums are exact in 8 bits."""
    generator = torch.Generator().manual_seed(comm.rank)
    most = 255 // comm.world_size
    tensor = torch.randint(-most, most + 1, (length,), generator=generator).float()
    all_reduce(comm, tensor)
    return tensor


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("dtype", HALVES)
@pytest.mark.parametrize("length", [0, 1, 7, 24])
@pytest.mark.parametrize("world_size", [1, 2, 3, 8])
def test_every_rank_receives_the_sum_in_fp32(world_size, length, dtype, way):
    most = 255 // world_size
    parts = [
        torch.randint(-most, most + 1, (length,), generator=torch.Generator().manual_seed(rank)).float()
        for rank in range(world_size)
    ]
    for total in simulate(sums, world_size, (WAYS[way](dtype), length)).results:
        assert total.dtype == torch.float32
        assert torch.equal(total, sum(parts))


@pytest.mark.parametrize("way", ["ring", "owners"])
@pytest.mark.parametrize("length", [1, 7, 24])
@pytest.mark.parametrize("world_size", [2, 3, 8])
def test_both_ways_send_half_of_what_the_ring_sends_in_fp32(world_size, length, way):
    trace = simulate(sums, world_size, (WAYS[way](torch.float16), length)).trace
    whole = ring_all_reduce_cost(4 * length, world_size=world_size)
    sent = [sum(m.message_bytes for m in trace.messages if m.src == rank) for rank in range(world_size)]
    assert sum(sent) * 2 == sum(whole.bytes_sent)
    assert way == "owners" or [2 * count for count in sent] == list(whole.bytes_sent)


def gradients(comm, wrap) -> list[torch.Tensor]:
    """The gradients that one backward pass in a wrapper leaves, of this rank's own examples."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        module = nn.Sequential(nn.Linear(6, 20), nn.Tanh(), nn.Linear(20, 3))
    model = wrap(comm, module)
    model(torch.randn(4, 6, generator=torch.Generator().manual_seed(comm.rank))).square().mean().backward()
    return [parameter.grad.clone() for parameter in module.parameters()]


def ours(all_reduce):
    return lambda comm, module: DataParallel(comm, module, 300, all_reduce=all_reduce)


def ddp(hook, state=lambda comm: None):
    def wrap(comm, module):
        model = DistributedDataParallel(module, bucket_cap_mb=0.0003)
        model.register_comm_hook(state(comm), hook)
        return model

    return wrap


def our_hook(comm, bucket) -> torch.futures.Future[torch.Tensor]:
    """A bucket of DDP's, averaged by our all-reduce in fp16."""
    buffer = bucket.buffer().div_(comm.world_size)
    all_reduce_in(torch.float16)(comm, buffer)
    done = torch.futures.Future()
    done.set_result(buffer)
    return done


def bytes_sent(report) -> int:
    return sum(message.message_bytes for message in report.trace.messages)


@pytest.mark.parametrize("execute", [simulate, run])
@pytest.mark.parametrize("world_size", [2, 3])
def test_the_wrapper_sends_half_the_bytes_simulated_and_measured(execute, world_size):
    parameters = 6 * 20 + 20 + 20 * 3 + 3
    for dtype in HALVES:
        assert bytes_sent(execute(gradients, world_size, (ours(all_reduce_in(dtype)),))) == (
            2 * parameters * 2 * (world_size - 1)
        )


def test_ddp_sends_the_same_half_through_a_hook_and_makes_the_same_gradients_to_the_last_bit():
    mine = run(gradients, 2, (ours(all_reduce_in(torch.float16)),))
    hooked = run(gradients, 2, (ddp(our_hook, lambda comm: comm),))
    assert bytes_sent(hooked) == bytes_sent(mine) > 0
    for rank, theirs in enumerate(hooked.results):
        assert all(torch.equal(a, b) for a, b in zip(mine.results[rank], theirs, strict=True))


def test_pytorchs_own_hook_makes_the_same_gradients_of_two_ranks():
    # Halving is exact except for subnormal numbers, so it hardly matters that the hook divides after rounding.
    mine = run(gradients, 2, (ours(all_reduce_in(torch.float16)),)).results
    theirs = run(gradients, 2, (ddp(fp16_compress_hook),)).results
    for a, b in zip(mine[0] + mine[1], theirs[0] + theirs[1], strict=True):
        torch.testing.assert_close(a, b, rtol=0, atol=2.0**-24)
        assert torch.equal(a, a.half().float())


def test_what_overflows_in_a_sum_fits_as_a_mean_and_reaches_every_rank_alike():
    def program(comm, shares):
        tensor = torch.tensor([4096.0, 1.0]) * (1 / comm.world_size if shares else 1)
        all_reduce_in(torch.float16)(comm, tensor)
        return tensor.tolist()

    assert simulate(program, 32, (False,)).results == [[float("inf"), 32.0]] * 32
    assert simulate(program, 32, (True,)).results == [[4096.0, 1.0]] * 32


def test_where_the_ring_swallows_ones_the_owner_counts_them():
    def program(comm, all_reduce):
        tensor = torch.full((3,), 256.0 if comm.rank == 1 else 1.0)
        all_reduce(comm, tensor)
        return tensor.tolist()

    assert simulate(program, 3, (all_reduce_in(torch.bfloat16),)).results[0] == [256.0, 258.0, 256.0]
    assert simulate(program, 3, (all_reduce_at_owners(torch.bfloat16),)).results == [[258.0] * 3] * 3


def test_gradients_without_ranks_are_those_that_the_wrapper_averages():
    def program(comm):
        model = DataParallel(comm, digits_model())
        inputs, labels = next(digit_batches(8, rank=comm.rank, seed=1))
        nn.functional.cross_entropy(model(inputs), labels).backward()
        return torch.cat([parameter.grad.flatten() for parameter in model.parameters()])

    torch.testing.assert_close(simulate(program, 3).results[1], gradients_of_ranks(3).mean(0))


@pytest.mark.parametrize("way", WAYS)
def test_a_gradient_that_is_nothing_in_16_bits_is_zero_and_not_missing(way):
    def gradient(comm):
        layer = nn.Linear(3, 1, bias=False)
        DataParallel(comm, layer, all_reduce=WAYS[way](torch.float16))(torch.full((1, 3), -1e-9)).sum().backward()
        return layer.weight.grad.tolist()

    assert simulate(gradient, 3).results == [[[0.0] * 3]] * 3
