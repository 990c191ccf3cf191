"""The ring explorer: keys are where the library's ring attention brings them, and work is what its pairs say."""

import pytest
import torch

from course_lib import simulate
from course_lib.tensor_parallel import places_in_order, places_in_zigzag, ring_attention, split_sequence
from course_lib.widgets import RingExplorer
from course_lib.widgets.ring import IN_ORDER, ZIGZAG, RingSetting, describe_ring, ring_step

from .parts import facts_of


def ring(show, ranks, step):
    return ring_step(RingSetting(show, ranks, 8, 3072, step))


@pytest.mark.parametrize("ranks", [1, 2, 3, 5])
@pytest.mark.parametrize(("show", "cut"), [(IN_ORDER, places_in_order), (ZIGZAG, places_in_zigzag)])
def test_keys_are_where_ring_attention_brings_them(show, cut, ranks, monkeypatch):
    """Every key is the number of its rank, and what the library's ring multiplies is written down."""
    held, places = {rank: [] for rank in range(ranks)}, cut(2 * ranks, ranks)
    scores = split_sequence._scores

    def watched(q, k, mine, theirs):
        held[int(q[0, 0, 0, 0])].append(int(k[0, 0, 0, 0]))
        return scores(q, k, mine, theirs)

    monkeypatch.setattr(split_sequence, "_scores", watched)
    simulate(lambda comm: ring_attention(comm, *[torch.full((1, 1, 2, 1), float(comm.rank))] * 3, places), ranks)
    for step in range(1, ranks + 1):
        assert ring(show, ranks, step).owners == [held[rank][step - 1] for rank in range(ranks)]


@pytest.mark.parametrize("ranks", [1, 2, 3, 4, 8, 16])
@pytest.mark.parametrize("show", [IN_ORDER, ZIGZAG])
def test_each_score_is_computed_once_in_one_step_and_none_that_is_masked(show, ranks):
    steps = [ring(show, ranks, step) for step in range(ranks + 1)]
    size = len(steps[0].pieces)
    for query in range(size):
        for key in range(size):
            seen = [each.scores[query][key] for each in steps]
            assert seen.count("now") == (0 if key > query else 1)
            assert seen[-1] in ({"masked"} if key > query else {"now", "done"})
    for each in steps[1:]:  # a rank that works has a score, and one that waits has none
        busy = {each.pieces[query] for query in range(size) if "now" in each.scores[query]}
        assert busy == {rank for rank, pairs in enumerate(each.now) if pairs}
    assert (steps[0].done, steps[-1].done) == (0, 1)


def test_in_order_ranks_wait_and_in_zigzag_nobody_does():
    for step in range(1, 9):
        assert f"{step - 1} of 8 ranks" in describe_ring(ring(IN_ORDER, 8, step)) or step < 3
        assert "nobody only waits" in describe_ring(ring(ZIGZAG, 8, step))
    assert "no score is computed yet" in describe_ring(ring(ZIGZAG, 8, 0))
    assert facts_of(RingExplorer(cut=IN_ORDER, ranks=8))["all steps take"] == "1.87 times an even share"


def test_it_has_as_many_steps_as_ranks():
    explorer = RingExplorer(cut=ZIGZAG, ranks=3, step=0)
    assert "Step 0 of 3" in explorer.caption
    explorer.player[1].value = 1  # what the button does
    assert "Step 1 of 3" in explorer.caption
    explorer.set(ranks=16)
    explorer.set(step=16)
    assert "Step 16 of 16" in explorer.caption


def test_a_rank_sends_its_keys_and_values_on_but_in_the_last_step():
    sent = [facts_of(RingExplorer(ranks=4, step=step))["then a rank sends on"] for step in range(5)]
    assert sent == ["0 B", *["33.6 MB"] * 3, "0 B"]
    assert 2 * 2 * 8 * 256 * 4096 == 33_554_432  # keys and values, 2 bytes, 8 sequences, a quarter of 1,024 tokens
