"""The small LSTM: its size by the formula, PyTorch's own layer beside it, what it may see, and that it learns."""

import math
from itertools import islice

import pytest
import torch
from torch import nn

from course_lib.tasks import LanguageLSTM, LSTMConfig, next_token_loss, source_tokens, text_batches
from course_lib.tasks.lstm import LSTMLayer

TINY = LSTMConfig(vocabulary=11, layers=2, width=3, cells=5)
TOKENS = torch.tensor([[3, 1, 4, 1, 5, 9, 2, 6], [2, 7, 1, 8, 2, 8, 1, 8]])


@pytest.mark.parametrize(("layers", "width", "cells"), [(1, 1, 1), (1, 4, 9), (3, 8, 5)])
def test_the_formula_counts_the_parameters(layers, width, cells):
    config = LSTMConfig(vocabulary=11, layers=layers, width=width, cells=cells)
    assert sum(parameter.numel() for parameter in LanguageLSTM(config).parameters()) == config.parameters


def test_the_same_seed_gives_the_same_weights_and_draws_nothing_from_the_programs_generator():
    torch.manual_seed(5)
    expected = torch.rand(3)
    torch.manual_seed(5)
    first, second, other = LanguageLSTM(TINY, seed=1), LanguageLSTM(TINY, seed=1), LanguageLSTM(TINY, seed=2)
    assert torch.equal(torch.rand(3), expected)
    assert torch.equal(first(TOKENS), second(TOKENS))
    assert not torch.equal(first(TOKENS), other(TOKENS))


def test_a_token_moves_the_scores_at_its_place_and_after_it_and_none_before():
    model, changed = LanguageLSTM(TINY), TOKENS.clone()
    changed[:, 5] = (changed[:, 5] + 1) % 11
    before, after = model(TOKENS), model(changed)
    assert torch.equal(before[:, :5], after[:, :5])
    assert (before[:, 5:] != after[:, 5:]).any(dim=2).all()


@pytest.mark.parametrize(("width", "cells"), [(1, 2), (6, 9)])
def test_a_layer_does_what_pytorchs_own_does(width, cells):
    ours = LSTMLayer(width, cells).double()
    theirs = nn.LSTM(width, cells, batch_first=True, proj_size=width).double()
    with torch.no_grad():
        theirs.weight_ih_l0.copy_(ours.input_gates.weight)
        theirs.bias_ih_l0.copy_(ours.input_gates.bias)
        theirs.weight_hh_l0.copy_(ours.state_gates.weight)
        theirs.bias_hh_l0.zero_()
        theirs.weight_hr_l0.copy_(ours.projection.weight)
    x = torch.randn(2, 7, width, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    torch.testing.assert_close(ours(x), theirs(x)[0])


def test_sixty_steps_lower_the_loss_from_ln_256_by_two():
    model = LanguageLSTM(LSTMConfig(width=16, cells=48))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    losses = []
    for inputs, targets in islice(text_batches(source_tokens(20_000), 16, 16), 60):
        loss = next_token_loss(model(inputs), targets)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert abs(losses[0] - math.log(256)) < 0.3
    assert losses[-1] < losses[0] - 2


@pytest.mark.parametrize("sizes", [{"cells": 0}, {"layers": 0}, {"width": -1}])
def test_sizes_that_do_not_fit_are_refused(sizes):
    with pytest.raises(ValueError, match="at least 1, got LSTMConfig"):
        LSTMConfig(**sizes)
