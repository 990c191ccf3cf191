"""The small GPT: its size by the formula, what it may see, PyTorch's own layer beside it, and that it learns."""

import math
from itertools import islice

import pytest
import torch
from torch import nn

from course_lib.tasks import GPT, GPTConfig, next_token_loss, source_tokens, text_batches
from course_lib.tasks.gpt import Block

TINY = GPTConfig(vocabulary=11, context=8, layers=2, width=12, heads=3)
TOKENS = torch.tensor([[3, 1, 4, 1, 5, 9, 2, 6], [2, 7, 1, 8, 2, 8, 1, 8]])


@pytest.mark.parametrize("tied", [True, False])
@pytest.mark.parametrize(("layers", "width", "heads"), [(0, 4, 1), (1, 12, 3), (3, 32, 8)])
def test_the_formula_counts_the_parameters(layers, width, heads, tied):
    config = GPTConfig(vocabulary=11, context=8, layers=layers, width=width, heads=heads, tied=tied)
    assert sum(parameter.numel() for parameter in GPT(config).parameters()) == config.parameters


def test_a_tied_output_has_the_embeddings_own_weights():
    model = GPT(TINY)
    assert model.output.weight is model.embedding.weight


def test_the_same_seed_gives_the_same_weights_and_draws_nothing_from_the_programs_generator():
    torch.manual_seed(5)
    expected = torch.rand(3)
    torch.manual_seed(5)
    first, second, other = GPT(TINY, seed=1), GPT(TINY, seed=1), GPT(TINY, seed=2)
    assert torch.equal(torch.rand(3), expected)
    assert torch.equal(first(TOKENS), second(TOKENS))
    assert not torch.equal(first(TOKENS), other(TOKENS))


def test_a_token_moves_no_score_before_its_place():
    model, changed = GPT(TINY), TOKENS.clone()
    changed[:, 5] = (changed[:, 5] + 1) % 11
    before, after = model(TOKENS), model(changed)
    assert torch.equal(before[:, :5], after[:, :5])
    assert (before[:, 5:] != after[:, 5:]).any(dim=2).all()


def test_a_block_does_what_pytorchs_own_does():
    config = GPTConfig(width=24, heads=4)
    ours = Block(config)
    theirs = nn.TransformerEncoderLayer(24, 4, 96, dropout=0, activation="gelu", batch_first=True, norm_first=True)
    names = {
        "attention_norm": theirs.norm1,
        "attention.output": theirs.self_attn.out_proj,
        "mlp_norm": theirs.norm2,
        "mlp.0": theirs.linear1,
        "mlp.2": theirs.linear2,
    }
    for name, module in names.items():
        ours.get_submodule(name).load_state_dict(module.state_dict())
    with torch.no_grad():
        ours.attention.queries_keys_values.weight.copy_(theirs.self_attn.in_proj_weight)
        ours.attention.queries_keys_values.bias.copy_(theirs.self_attn.in_proj_bias)
    x = torch.randn(2, 7, 24, generator=torch.Generator().manual_seed(0))
    mask = nn.Transformer.generate_square_subsequent_mask(7)
    torch.testing.assert_close(ours(x), theirs(x, src_mask=mask, is_causal=True))


def test_forty_steps_lower_the_loss_from_ln_256_by_two():
    model = GPT(GPTConfig(width=32, heads=2, context=32))
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    losses = []
    for inputs, targets in islice(text_batches(source_tokens(20_000), 16, 32), 40):
        loss = next_token_loss(model(inputs), targets)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert abs(losses[0] - math.log(256)) < 0.2
    assert losses[-1] < losses[0] - 2


def test_sizes_that_do_not_fit_are_refused():
    with pytest.raises(ValueError, match="5 heads and width 12"):
        GPTConfig(width=12, heads=5)
    with pytest.raises(ValueError, match="context = 8 tokens, got 9"):
        GPT(TINY)(torch.zeros(1, 9, dtype=torch.int64))
