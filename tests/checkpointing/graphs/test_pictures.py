"""The picture of graphs says in words what it shows."""

import pytest

from course_lib.checkpointing.graphs import residual_shape, unet_shape
from course_lib.draw.chapters.checkpointing import draw_graphs


def test_arcs_and_marks_are_told_in_words():
    picture = draw_graphs({"blocks": residual_shape(2), "U-Net": unet_shape(3)}, {"bottom": ["bottom"]})
    assert picture.alt == (
        "blocks: 7 nodes, 2 values go past others. U-Net: 8 nodes, 3 values go past others. bottom: bottom. (schematic)"
    )


def test_more_than_there_is_room_for_is_refused():
    with pytest.raises(ValueError, match="room for 4 graphs and 5 marks, got 0 and 6"):
        draw_graphs({}, {str(number): () for number in range(6)})
