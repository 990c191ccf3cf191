"""The operations of a step: by hand, as PyTorch counts them, and with what runs a second time."""

import pytest
import torch
from torch import nn
from torch.nn.functional import scaled_dot_product_attention
from torch.utils.checkpoint import checkpoint
from torch.utils.flop_counter import FlopCounterMode

from course_lib.checkpointing import CountedOperations


def counted(step):
    with CountedOperations() as counter:
        step()
    return counter.operations


def network(width: int = 6) -> nn.Sequential:
    return nn.Sequential(nn.Linear(4, width), nn.ReLU(), nn.Linear(width, 5))


def test_a_product_by_hand_forward_and_backward():
    layer, x = nn.Linear(4, 6), torch.randn(3, 4, requires_grad=True)
    assert counted(lambda: layer(x)) == 2 * 3 * 4 * 6
    assert counted(lambda: layer(x).sum().backward()) == 3 * 2 * 3 * 4 * 6


@pytest.mark.parametrize("rows", [1, 3, 7])
@pytest.mark.parametrize("width", [1, 6])
def test_products_and_convolutions_count_as_pytorch_counts_them(rows, width):
    for model, x in ((network(width), torch.randn(rows, 4)), (nn.Conv2d(2, width, 3), torch.randn(rows, 2, 5, 5))):
        with FlopCounterMode(display=False) as theirs:
            model(x).square().sum().backward()
        assert counted(lambda model=model, x=x: model(x).square().sum().backward()) == theirs.get_total_flops() > 0


def test_what_runs_again_counts_again():
    model, x = nn.Sequential(network(), nn.Linear(5, 4)), torch.randn(3, 4, requires_grad=True)
    plain = counted(lambda: model(x).sum().backward())
    again = counted(lambda: checkpoint(model, x, use_reentrant=False, early_stop=False).sum().backward())
    assert again - plain == counted(lambda: model(x))


@pytest.mark.parametrize("tokens", [1, 5, 16])
def test_attention_counts_on_a_processor_too(tokens):
    q, k, v = torch.randn(3, 1, 2, tokens, 8, requires_grad=True)
    product = 2 * 2 * tokens * tokens * 8
    assert counted(lambda: scaled_dot_product_attention(q, k, v, is_causal=True)) == 2 * product
    assert counted(lambda: scaled_dot_product_attention(q, k, v, is_causal=True).sum().backward()) == 7 * product


def test_what_is_no_product_counts_as_nothing():
    assert counted(lambda: torch.randn(5).softmax(0) + 1) == 0
