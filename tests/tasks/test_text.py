"""The text and its batches."""

from itertools import islice

import pytest
import torch

from course_lib.tasks import load_source_text, random_batches, source_tokens, text_batches


def test_the_text_is_pythons_own_source():
    assert len(load_source_text(50_000)) == 50_000
    assert "def " in load_source_text(50_000)
    assert bytes(source_tokens(50_000).tolist()).decode() == load_source_text(50_000)
    with pytest.raises(ValueError, match="were asked for"):
        load_source_text(10**9)


def test_a_target_is_the_token_that_follows():
    for inputs, targets in islice(text_batches(torch.arange(40), 5, 7), 20):
        assert torch.equal(targets, inputs + 1)
        assert inputs.shape == (5, 7)


def test_every_place_of_the_text_is_drawn():
    seen = {
        token for _, targets in islice(text_batches(torch.arange(9), 8, 8), 1) for token in targets.flatten().tolist()
    }
    assert seen == set(range(1, 9))  # one place only, so that the last token is the last target
    starts = {int(inputs[0]) for batch, _ in islice(text_batches(torch.arange(12), 8, 8), 20) for inputs in batch}
    assert starts == {0, 1, 2, 3}


def test_a_text_without_a_target_is_refused():
    with pytest.raises(ValueError, match="length = 8 tokens, got 8"):
        next(text_batches(torch.arange(8), 2, 8))


def test_ranks_and_seeds_draw_different_batches_and_the_same_again():
    draws = {
        (rank, seed): torch.stack(list(islice(random_batches(1000, 8, rank=rank, seed=seed), 3))).tolist()
        for rank in range(4)
        for seed in range(3)
    }
    assert len({str(drawn) for drawn in draws.values()}) == 12
    assert draws[2, 1] == torch.stack(list(islice(random_batches(1000, 8, rank=2, seed=1), 3))).tolist()


@pytest.mark.parametrize(("examples", "batch_size"), [(0, 4), (4, 0)])
def test_batches_of_nothing_are_refused(examples, batch_size):
    with pytest.raises(ValueError, match=f"got {examples} and {batch_size}"):
        next(random_batches(examples, batch_size))
