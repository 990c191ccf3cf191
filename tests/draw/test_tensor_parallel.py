"""The figures of an MLP between f and g, and of what a GPU holds."""

import pytest

from course_lib.draw import alt_text
from course_lib.draw.chapters.model_parallel import draw_cuts, draw_parallel_mlp


def test_every_rank_has_its_columns_of_the_first_layer_and_its_rows_of_the_second():
    picture = draw_parallel_mlp(ranks=3)
    shown = [text.get_text() for axes in picture.axes for text in axes.texts]
    for rank in range(3):
        assert {f"up, columns {rank}", f"down, rows {rank}"} <= set(shown)
    assert shown.count("GELU") == 3
    assert shown.count("f") == shown.count("g") == 1
    assert "on 3 ranks" in alt_text(picture)


def test_what_has_no_room_is_refused():
    with pytest.raises(ValueError, match="room for 2 to 4 ranks, got 5"):
        draw_parallel_mlp(5)


def test_before_its_guess_the_picture_says_nothing_of_the_way_back():
    for backward in (True, False):
        picture = draw_parallel_mlp(backward=backward)
        [axes] = picture.axes
        shown = " ".join([axes.get_title(loc="left"), axes.get_title(), *[text.get_text() for text in axes.texts]])
        assert ("way back" in shown, "Nothing crosses" in shown) == (backward, not backward)
        assert ("backward" in shown, "backward" in alt_text(picture)) == (backward, backward)


def test_each_cut_has_a_bar_that_is_named_with_its_sum_and_the_gpu_a_line():
    held = {"nothing": {"states": 3e9, "activations": 2e9}, "heads": {"states": 1e9, "activations": 1e9}}
    said = alt_text(draw_cuts(held, 4e9, title="It fits"))
    assert "nothing: 5 GB (states 3 GB, activations 2 GB); heads: 2 GB" in said
    assert "a GPU of 4 GB has 4 GB, too little for nothing" in said
