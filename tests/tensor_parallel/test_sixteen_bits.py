"""Rule: what torch adds up in fp32, under autocast or inside its own kernels, the parallel parts add up in fp32."""

import pytest
import torch
from torch import nn
from torch.nn.functional import cross_entropy, scaled_dot_product_attention

from course_lib import simulate
from course_lib.tensor_parallel import (
    ExpertParallel,
    mixture_on_one_process,
    places_in_zigzag,
    ring_attention,
    vocabulary_parallel_loss,
)

BF16, FP16 = torch.bfloat16, torch.float16
WHERE = {"autocast": True, "no autocast": False}


def logits(dtype):
    generator = torch.Generator().manual_seed(0)
    whole = (torch.randn(32, 64, generator=generator) * 3 + 10).to(dtype)
    return whole, torch.randint(0, 64, (32,), generator=generator)


def loss_and_gradient(loss_of, autocast, dtype):
    whole, targets = logits(dtype)
    whole.requires_grad_()
    with torch.autocast("cpu", BF16, enabled=autocast):
        loss = loss_of(whole, targets)
    loss.backward()
    return loss.detach(), whole.grad


@pytest.mark.parametrize("dtype", [BF16, FP16, torch.float32, torch.float64])
@pytest.mark.parametrize("autocast", [True, False])
@pytest.mark.parametrize("ranks", [1, 4])
def test_a_split_loss_is_that_of_cross_entropy(ranks, autocast, dtype):
    def split(comm):
        def loss_of(whole, targets):
            return vocabulary_parallel_loss(comm, whole.chunk(comm.world_size, -1)[comm.rank], targets)

        return loss_and_gradient(loss_of, autocast, dtype)

    expected, gradient = loss_and_gradient(cross_entropy, autocast, dtype)
    results = simulate(split, ranks).results
    for loss, _ in results:
        assert loss.dtype == expected.dtype
        torch.testing.assert_close(loss, expected)
    torch.testing.assert_close(sum(part for _, part in results), gradient, rtol=2e-2, atol=1e-3)


@pytest.mark.parametrize("dtype", [BF16, FP16, torch.float32, torch.float64])
@pytest.mark.parametrize("autocast", [True, False])
@pytest.mark.parametrize("ranks", [1, 3])
def test_ring_attention_rounds_once_as_torchs_does(ranks, autocast, dtype):
    """Under autocast it takes queries, keys and values as torch's does, in that dtype, unless they have 64 bits."""
    parts = torch.randn(3, 1, 2, 12, 8, generator=torch.Generator().manual_seed(0)).to(dtype)
    places = places_in_zigzag(12, ranks)

    def ring(comm):
        with torch.autocast("cpu", BF16, enabled=autocast):
            return ring_attention(comm, *(part[:, :, places[comm.rank]] for part in parts), places)

    with torch.autocast("cpu", BF16, enabled=autocast):
        right = scaled_dot_product_attention(*parts, is_causal=True).dtype
    exact = scaled_dot_product_attention(*parts.to(right).double(), is_causal=True)
    for rank, ours in enumerate(simulate(ring, ranks).results):
        assert ours.dtype == right
        off = (ours.double() - exact[:, :, places[rank]]).abs().max()
        assert off <= max(torch.finfo(right).eps, 2e-15 if right == torch.float64 else 2e-7) * exact.abs().max() * 2


def mixture(dtype):
    torch.manual_seed(0)
    experts = nn.ModuleList(nn.Sequential(nn.Linear(8, 16), nn.GELU(), nn.Linear(16, 8)) for _ in range(4))
    return nn.Linear(8, 4).to(dtype), experts.to(dtype), torch.randn(8, 8).to(dtype)


@pytest.mark.parametrize("dtype", [torch.float32, BF16])
@pytest.mark.parametrize("autocast", [BF16, FP16, None])
@pytest.mark.parametrize("ranks", [1, 2, 4])
def test_experts_give_what_those_of_one_process_give(ranks, autocast, dtype):
    def autocasted():
        return torch.autocast("cpu", autocast or BF16, enabled=autocast is not None)

    def on_ranks(comm):
        router, experts, x = mixture(dtype)
        with autocasted():
            y = ExpertParallel(comm, router, experts, 8)(x)
        y.float().square().sum().backward()
        return y.detach(), router.weight.grad

    router, experts, x = mixture(dtype)
    with autocasted():
        expected = mixture_on_one_process(router, experts, x, 8)
    expected.float().square().sum().backward()
    for ours, gradient in simulate(on_ranks, ranks).results:
        assert ours.dtype == expected.dtype
        torch.testing.assert_close(ours, expected, rtol=2e-2, atol=2e-3)
        torch.testing.assert_close(gradient, router.weight.grad, rtol=2e-2, atol=2e-2)
