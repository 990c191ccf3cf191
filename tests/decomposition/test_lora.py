"""LoRA: two thin matrices beside a frozen weight."""

import pytest
import torch
from torch import nn

from course_lib import simulate
from course_lib.data_parallel import DataParallel
from course_lib.decomposition import LoRALinear


def layer_of(inputs: int, outputs: int, rank: int, bias: bool = True) -> LoRALinear:
    torch.manual_seed(0)
    return LoRALinear(nn.Linear(inputs, outputs, bias=bias).double(), rank)


@pytest.mark.parametrize("shape", [(3,), (2, 3, 5), (0,)])
def test_it_begins_as_the_layer_that_it_was_made_of(shape: tuple[int, ...]) -> None:
    layer, x = layer_of(7, 4, 2), torch.randn(*shape, 7, dtype=torch.float64)
    torch.testing.assert_close(layer(x), layer.dense(x), rtol=0, atol=0)


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("rank", [1, 3, 4])
def test_the_merged_layer_gives_the_same(rank: int, bias: bool) -> None:
    layer, x = layer_of(6, 4, rank, bias), torch.randn(5, 6, dtype=torch.float64)
    nn.init.normal_(layer.b)
    merged = layer.merged()
    torch.testing.assert_close(merged(x), layer(x))
    assert (merged.bias is None) == (not bias)
    assert torch.linalg.matrix_rank(merged.weight - layer.dense.weight) == rank


def test_only_the_thin_matrices_learn() -> None:
    layer = layer_of(6, 4, 2)
    layer(torch.ones(3, 6, dtype=torch.float64)).sum().backward()
    assert [name for name, p in layer.named_parameters() if p.grad is not None] == ["a", "b"]
    assert layer.b.grad is not None
    assert layer.b.grad.abs().sum() > 0  # or the first step would change nothing for ever


@pytest.mark.parametrize("world_size", [1, 2, 3])
def test_only_their_gradients_cross_the_wire(world_size: int) -> None:
    def program(comm) -> None:
        torch.manual_seed(0)
        model = DataParallel(comm, LoRALinear(nn.Linear(6, 4), rank=2))
        model(torch.ones(3, 6)).sum().backward()

    assert simulate(program, world_size).trace.total_bytes == 2 * (world_size - 1) * 4 * 2 * (6 + 4)


@pytest.mark.parametrize("rank", [0, 5, -1])
def test_a_rank_beyond_the_weights_is_refused(rank: int) -> None:
    with pytest.raises(ValueError, match=f"rank must be from 1 to 4, got {rank}"):
        layer_of(6, 4, rank)
