"""Pictures of plans: what lives is shaded, what is computed again has a color of its own."""

import pytest

from course_lib.checkpointing import Node, best_segments, read_plan, segment_plan, store_segment
from course_lib.draw import alt_text
from course_lib.draw.chapters.checkpointing import draw_frontier, draw_plans
from course_lib.draw.colors import FILLS

SHADES = {"held": "h", "stored": "s", "run": "r", "recomputed": "a", "back": "b"}
CHAIN = {0: Node()} | {node: Node((node - 1,), (node - 1,)) for node in range(1, 5)}


def shades(picture):
    """The rows of the plan, from the input upward, by letters: held, stored, run, recomputed, back."""
    letters = {FILLS["plans"][name].color: letter for name, letter in SHADES.items()}
    return ["".join(letters.get(cell.color, " ") for cell in row) for row in picture.panels[1].cells[::-1]]


def test_a_small_plan_has_the_shades_drawn_by_hand():
    chain = {node: CHAIN[node] for node in range(3)}
    picture = draw_plans({"own": read_plan("run 1, store 2, back 2, store 1, free 0, back 1")}, chain)
    assert shades(picture) == [
        "hhhh ",  # the input is held until layer 1 is stored
        "rhhab",  # run, held, again, back
        " rbhh",
    ]
    assert "own: 3 forward runs, 1 of them again; at most 4 values alive." in alt_text(picture)


def test_plans_stand_side_by_side_on_one_scale():
    plans = {"keep everything": store_segment(0, 4), "segments": segment_plan(best_segments(4))}
    picture = draw_plans(plans, CHAIN, budget_bytes=4)
    one, other, *_ = picture.panels
    assert len(picture.panels) == 4
    assert one.y == other.y
    assert list(one.lines["budget"].y) == [4, 4]


def test_too_many_plans_are_refused():
    with pytest.raises(ValueError, match="there is room for 1 to 4 plans, got 0"):
        draw_plans({}, CHAIN)


def test_a_frontier_has_a_point_for_each_plan_and_steps_for_the_optimum():
    points = {"halving": [(3.0, 2.5)], "segments": [(8.0, 1.5), (6.0, 2.0)], "optimum": [(3.0, 2.0), (6.0, 1.0)]}
    picture = draw_frontier(points, show="{:g} kB".format)
    halving, segments, optimum = picture.panels[0].lines.values()
    assert (halving.x, halving.y, halving.drawn) == ([3.0], [2.5], "dots")
    assert segments.x == [6.0, 8.0]
    assert (optimum.x, optimum.y) == ([3.0, 6.0, 6.0], [2.0, 2.0, 1.0])
    assert "halving, 2.5 forward passes at 3 kB" in alt_text(picture)
    with pytest.raises(ValueError, match="there must be a plan to draw, got none"):
        draw_frontier({"optimum": []})
