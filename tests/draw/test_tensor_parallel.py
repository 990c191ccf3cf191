"""The figure of an MLP between f and g."""

import pytest

from course_lib.draw import alt_text
from course_lib.draw.tensor_parallel import draw_parallel_mlp


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
