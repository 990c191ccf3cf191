"""A weight in 4 bits: its levels, its bytes, how far it is from the weight, and LoRA beside it."""

import pytest
import torch
from torch import nn

from course_lib import simulate
from course_lib.data_parallel import DataParallel
from course_lib.decomposition import FourBitLinear, LoRALinear
from course_lib.decomposition.lora import LEVELS


def dense_of(weight: torch.Tensor, bias: bool = False) -> nn.Linear:
    layer = nn.Linear(*weight.T.shape, bias=bias)
    layer.weight.data = weight
    return layer


def test_its_levels_are_those_that_are_published() -> None:
    # The paper's appendix E, to two digits.
    published = [-1.0, -0.7, -0.53, -0.39, -0.28, -0.18, -0.09, 0.0]
    published += [0.08, 0.16, 0.25, 0.34, 0.44, 0.56, 0.72, 1.0]
    assert [round(level, 2) for level in LEVELS.tolist()] == published


def test_by_hand_a_block_is_levels_times_its_largest_magnitude() -> None:
    weight = torch.tensor([[3.0, 3 * LEVELS[2], 0.0, -10.0], [10 * LEVELS[12], 0.1, 0.0, 0.0]])
    torch.testing.assert_close(FourBitLinear(dense_of(weight), block=1).weight, weight)
    weight[1, 1] = 0.0  # is far below a level of the block that it is in
    small = weight + torch.tensor([[0.0] * 4, [0.0, 0.1, 0.0, 0.0]])
    torch.testing.assert_close(FourBitLinear(dense_of(small), block=2).weight, weight)


@pytest.mark.parametrize("block", [1, 3, 64, 1000])
@pytest.mark.parametrize("shape", [(1, 1), (3, 5), (7, 64), (240, 256)])
def test_every_weight_goes_to_a_level_that_is_nearest(shape: tuple[int, int], block: int) -> None:
    weight = torch.randn(*shape, generator=torch.Generator().manual_seed(block))
    layer = FourBitLinear(dense_of(weight), block)
    scales = layer.scales.repeat_interleave(block)[: weight.numel()].view(shape)
    nearest = (weight[..., None] - scales[..., None] * LEVELS).abs().amin(-1)
    torch.testing.assert_close((layer.weight - weight).abs(), nearest)
    rows = -(-weight.numel() // block)
    assert layer.weight_bytes == -(-rows * block // 2) + 4 * rows


def test_normal_weights_miss_by_a_tenth_and_evenly_spaced_levels_by_more() -> None:
    weight = torch.randn(64, 256, generator=torch.Generator().manual_seed(0))
    layer = FourBitLinear(dense_of(weight))
    even = (weight.view(-1, 64) / layer.scales * 7).round() / 7 * layer.scales
    missed = [((kept.reshape(64, 256) - weight).norm() / weight.norm()).item() for kept in (layer.weight, even)]
    assert 0.08 < missed[0] < 0.1 < missed[1]


@pytest.mark.parametrize("world_size", [1, 2, 3])
def test_lora_beside_it_learns_and_sends_the_thin_matrices_alone(world_size: int) -> None:
    def program(comm) -> torch.Tensor:
        torch.manual_seed(0)
        layer = LoRALinear(FourBitLinear(nn.Linear(6, 4)), rank=2)
        DataParallel(comm, layer)(torch.ones(3, 6)).sum().backward()
        return layer.b.grad

    report = simulate(program, world_size)
    assert report.trace.total_bytes == 2 * (world_size - 1) * 4 * 2 * (6 + 4)
    assert report.results[0].abs().sum() > 0


def test_it_merges_is_saved_and_stays_as_it_was_made() -> None:
    dense = nn.Linear(6, 4)
    before = dense.weight.detach().clone()
    layer = LoRALinear(FourBitLinear(dense), rank=3)
    nn.init.normal_(layer.b)
    x = torch.randn(5, 6)
    torch.testing.assert_close(layer.merged()(x), layer(x))
    other = LoRALinear(FourBitLinear(nn.Linear(6, 4)), rank=3)
    other.load_state_dict(layer.state_dict())
    assert torch.equal(other(x), layer(x))
    assert torch.equal(dense.weight, before)


def test_zeros_stay_zeros_and_a_block_holds_a_weight() -> None:
    assert not FourBitLinear(dense_of(torch.zeros(2, 3))).weight.any()
    with pytest.raises(ValueError, match="1 weight or more, got 0"):
        FourBitLinear(nn.Linear(2, 2), block=0)
