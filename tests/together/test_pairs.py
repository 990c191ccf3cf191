"""Every pair of the table: two ranks get the weights of one process, or the table says that there is no such pair."""

from pathlib import Path

import pytest

from tests.together.pairs import FEATURES, HOW, NOT_ASKED, WAYS, outcome, page

PAIRS = [(way, feature) for way in WAYS for feature in FEATURES if (way, feature) not in NOT_ASKED]


@pytest.mark.parametrize(("way", "feature"), PAIRS)
def test_a_pair_that_goes_together_makes_the_weights_of_one_process(tmp_path, way, feature):
    assert outcome(way, feature, tmp_path) == "same"


def test_the_page_is_what_is_tried_here():
    written = Path(__file__).parents[2] / "docs" / "what_goes_together.md"
    assert written.read_text(encoding="utf-8") == page(), "write it anew: python -m tests.together.pairs"
    assert set(HOW) == set(FEATURES)
    assert {way for way, _ in NOT_ASKED} <= set(WAYS)
