"""Megatron's counts against what was published."""

import pytest

from course_lib.tasks import GPT, GPTConfig
from course_lib.tensor_parallel import MEGATRON_WEAK_SCALING, communication_share, gpt_parameters


@pytest.mark.parametrize(
    ("layers", "hidden", "billions"), [(40, 1536, 1.2), (54, 1920, 2.5), (64, 2304, 4.2), (72, 3072, 8.3)]
)
def test_the_papers_formula_gives_the_papers_parameters(layers, hidden, billions):
    assert round(gpt_parameters(layers, hidden) / 1e9, 1) == billions


def test_it_counts_our_gpt_too_but_for_the_last_norm():
    config = GPTConfig(vocabulary=96, context=32, layers=3, width=24, heads=4)
    formula = gpt_parameters(config.layers, config.width, config.vocabulary, config.context)
    assert round(formula) + 2 * config.width == sum(p.numel() for p in GPT(config).parameters())


def test_communication_alone_explains_part_of_the_published_loss():
    shares = [communication_share(model) for model in MEGATRON_WEAK_SCALING]
    assert shares[0] == 1
    assert shares == sorted(shares, reverse=True)
    assert 0.85 < shares[-1] < 0.88
    assert all(share > model.efficiency - 1e-9 for share, model in zip(shares, MEGATRON_WEAK_SCALING, strict=True))
