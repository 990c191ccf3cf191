"""Pictures that set policies side by side say in words what they show."""

import math
from types import SimpleNamespace

import pytest

from course_lib.comm import Network, Trace, simulate
from course_lib.draw import alt_text
from course_lib.draw.chapters.parameter_server import draw_beginnings, draw_corners, draw_times_to_loss
from course_lib.draw.colors import COLORS


def titles(picture):
    return [panel.title for panel in picture.panels]


def test_green_is_fresh_and_in_time_gray_is_old_and_who_never_arrives_fills_the_axis():
    needed = {"late": (11.7, 0), "old": (3.5, 70), "never": (math.inf, 73), "in time": (4.5, 0)}
    (panel,) = draw_times_to_loss(needed, goal=4.5).panels
    assert dict(panel.colors) == {
        "late (fresh): 11.7": COLORS["blue"],
        "old (70 old): 3.5": "quiet",
        "never (73 old): not in 13": COLORS["vermillion"],
        "in time (fresh): 4.5": COLORS["green"],
    }
    assert panel.bars["never (73 old): not in 13"] == {"never (73 old): not in 13": 13}
    assert panel.limits == {"goal: 4.5": 4.5}
    with pytest.raises(ValueError, match="a policy to draw, got none"):
        draw_times_to_loss({}, goal=4.5)


def trace_of_one_message() -> Trace:
    def program(comm):
        comm.compute(1.0, "gradient")
        comm.barrier()

    return simulate(program, 3, network=Network(latency_s=0.1)).trace


def test_timelines_name_the_server_and_the_slow_worker():
    picture = draw_beginnings({"x": SimpleNamespace(trace=trace_of_one_message(), busy_share=0.25)}, until_s=1, slow=1)
    assert picture.panels[0].rows == ["server", "worker 0", "worker 1, slow"]
    assert "x: workers compute 25% of the time" in alt_text(picture)
    nobody = draw_beginnings({"x": SimpleNamespace(trace=trace_of_one_message(), busy_share=0.25)}, until_s=1)
    assert nobody.panels[0].rows == ["server", "worker 0", "worker 1"]


@pytest.mark.parametrize("order", [(0, 1, 2, 3), (3, 1, 0, 2)])
def test_each_corner_has_its_place_on_the_map(order):
    def corner(place, time, name, seconds):
        values = {"seconds_per_round": seconds, "busiest_bytes": 1e3, "staleness": 0.0, "loss": 0.5}
        return SimpleNamespace(place=place, time=time, name=name, **values)

    names = [("centralized", "synchronous"), ("centralized", "asynchronous")]
    names += [("decentralized", "synchronous"), ("decentralized", "asynchronous")]
    pairs = [(corner(*name, "way", 0.1), corner(*name, "way", 0.4)) for name in names]
    picture = draw_corners([pairs[number] for number in order])
    assert titles(picture) == [f"{place}, {time}:\nway" for place, time in names]
    assert "a round takes 0.10 s, with one slow worker 0.40 s" in alt_text(picture)
