"""What layers save for their backward passes: what one expects, and what one does not."""

import pytest
import torch
from torch import nn

from course_lib.checkpointing import chain_of, measure_chain, saved_tensors

FLOAT_BYTES = 4
X = torch.randn(6, 8)
IMAGE = torch.randn(2, 3, 8, 8)


@pytest.mark.parametrize(
    ("layer", "x", "needs", "own_bytes"),
    [
        (nn.Linear(8, 5), X, {"input"}, 0),
        (nn.ReLU(), X, {"output"}, 0),
        (nn.Tanh(), X, {"output"}, 0),
        (nn.GELU(), X, {"input"}, 0),
        (nn.Softmax(-1), X, {"output"}, 0),
        (nn.Dropout(0.5), X, set(), FLOAT_BYTES * 6 * 8),  # the mask, a float for each number
        (nn.BatchNorm1d(8), X, {"input"}, FLOAT_BYTES * 2 * 8),  # mean and deviation of each channel
        (nn.LayerNorm(8), X, {"input"}, FLOAT_BYTES * 2 * 6),  # and of each row
        (nn.Flatten(), IMAGE, set(), 0),
        (nn.Conv2d(3, 4, 3), IMAGE, {"input"}, 0),
        (nn.MaxPool2d(2), IMAGE, {"input"}, 8 * 2 * 3 * 4 * 4),  # indices of 8 bytes
        (nn.AvgPool2d(2), IMAGE, {"input"}, 0),  # whose derivative needs none of it
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, nn.Module) else "",
)
def test_what_a_layer_saves(layer, x, needs, own_bytes):
    x = x.clone().requires_grad_()
    _, saved = saved_tensors(layer, [x])
    assert {each.whose for each in saved} - {"own", "parameter"} == needs
    assert sum({each.memory: each.memory_bytes for each in saved if each.whose == "own"}.values()) == own_bytes


def test_without_a_gradient_to_pass_on_less_is_saved():
    assert saved_tensors(nn.ReLU(), [X])[1] == ()
    assert saved_tensors(nn.Linear(8, 5).requires_grad_(False), [X])[1] == ()
    _, saved = saved_tensors(nn.Linear(8, 5).requires_grad_(False), [X.clone().requires_grad_()])
    assert {each.whose for each in saved} == {"parameter"}


def test_the_value_before_a_relu_is_kept_by_nobody_and_the_one_behind_it_twice():
    chain = chain_of(nn.Sequential(nn.Linear(8, 5), nn.ReLU(), nn.Linear(5, 3)), X)
    assert [node.needs for node in chain.values()] == [(), (0,), (2,), (2,)]


def test_kept_bytes_count_memory_once_and_no_parameters():
    linear, norm = measure_chain(nn.Sequential(nn.Linear(8, 5), nn.BatchNorm1d(5)), X)
    assert linear.kept_bytes == FLOAT_BYTES * 6 * 8
    assert norm.kept_bytes == FLOAT_BYTES * (6 * 5 + 2 * 5)


def test_time_counts_the_operations_of_products_and_one_for_each_number():
    chain = chain_of(nn.Sequential(nn.Linear(8, 5), nn.ReLU()), X)
    assert chain[1].forward_time == 2 * 6 * 8 * 5 + 6 * 5
    assert chain[2].forward_time == 6 * 5
