"""Pictures of plans: what lives is shaded, what is computed again has a color of its own."""

import pytest

from course_lib.checkpointing import Node, best_segments, read_plan, segment_plan, store_segment
from course_lib.draw import alt_text
from course_lib.draw.checkpointing import draw_frontier, draw_plans

CHAIN = {0: Node()} | {node: Node((node - 1,), (node - 1,)) for node in range(1, 5)}


def shades(picture, panel):
    return picture.axes[panel].images[0].get_array().tolist()


def test_a_small_plan_has_the_shades_drawn_by_hand():
    chain = {node: CHAIN[node] for node in range(3)}
    picture = draw_plans({"own": read_plan("run 1, store 2, back 2, store 1, free 0, back 1")}, chain)
    assert shades(picture, 1) == [
        [1, 1, 1, 1, 0],  # the input is held until layer 1 is stored
        [3, 1, 1, 4, 5],  # run, held, recomputed, back
        [0, 3, 5, 1, 1],
    ]
    assert "own: 3 forward runs, 1 of them again; at most 4 values live." in alt_text(picture)


def test_plans_stand_side_by_side_on_one_scale():
    plans = {"keep everything": store_segment(0, 4), "segments": segment_plan(best_segments(4))}
    picture = draw_plans(plans, CHAIN, budget_bytes=4)
    assert len(picture.axes) == 4
    assert picture.axes[0].get_ylim() == picture.axes[1].get_ylim()
    assert picture.axes[0].lines[0].get_ydata()[0] == 4


def test_too_many_plans_are_refused():
    with pytest.raises(ValueError, match="there is room for 1 to 4 plans, got 0"):
        draw_plans({}, CHAIN)


def test_a_frontier_has_a_point_for_each_plan_and_steps_for_the_optimum():
    points = {"halving": [(3.0, 2.5)], "segments": [(8.0, 1.5), (6.0, 2.0)], "optimum": [(3.0, 2.0), (6.0, 1.0)]}
    picture = draw_frontier(points, show="{:g} kB".format)
    halving, segments, optimum = picture.axes[0].lines
    assert (list(halving.get_xdata()), list(halving.get_ydata())) == ([3.0], [2.5])
    assert list(segments.get_xdata()) == [6.0, 8.0]
    assert optimum.get_drawstyle() == "steps-post"
    assert "halving, 2.5 forward passes at 3 kB" in alt_text(picture)
    with pytest.raises(ValueError, match="there must be a plan to draw, got none"):
        draw_frontier({"optimum": []})
