"""Pictures that set policies side by side say in words what they show."""

from types import SimpleNamespace

import pytest

from course_lib.comm import Network, Trace, simulate
from course_lib.draw import alt_text
from course_lib.draw.policies import (
    draw_beginnings,
    draw_corners,
    draw_server_load,
    draw_staleness_grid,
    draw_time_and_updates,
)


def history(losses, updates_each, staleness=(0,)):
    updates = [number * updates_each for number in range(len(losses))]
    return SimpleNamespace(time_s=[0.5 * u for u in updates], updates=updates, loss=losses, staleness=list(staleness))


def titles(picture):
    return [panel.title for panel in picture.panels]


def test_one_scale_for_both_panels_and_a_dot_at_the_end_of_each_line():
    picture = draw_time_and_updates({"slow": history([2, 1], 3), "fast": history([2, 0.5], 9)}, title="Two")
    by_time, by_updates = picture.panels
    assert by_time.y == by_updates.y
    dots = [dot for _, dot in by_updates.lines.values()]
    assert [(list(dot.x), list(dot.y), dot.drawn) for dot in dots] == [([3], [1], "dots"), ([9], [0.5], "dots")]
    assert dots[0].size_px > dots[1].size_px  # no dot hides another
    assert "fast ends at 0.5 after 9 updates in 4.50 s" in alt_text(picture)


def test_a_row_for_each_policy_and_a_column_for_each_situation():
    both = {"a": history([1], 1, [0, 0, 2, 2]), "b": history([1], 1, [1, 5])}
    picture = draw_staleness_grid({"equal": both, "one slow": both})
    assert titles(picture) == [
        f"{name}, {situation}\n{words}"
        for name, words in (("a", "mean 1.0, at most 2"), ("b", "mean 3.0, at most 5"))
        for situation in ("equal", "one slow")
    ]
    assert all(title.replace("\n", ": ") in alt_text(picture) for title in titles(picture))


def trace_of_one_message() -> Trace:
    def program(comm):
        comm.compute(1.0, "gradient")
        comm.barrier()

    return simulate(program, 3, network=Network(latency_s=0.1)).trace


def test_timelines_name_the_server_and_the_slow_worker():
    picture = draw_beginnings({"x": SimpleNamespace(trace=trace_of_one_message(), busy_share=0.25)}, until_s=1, slow=1)
    assert picture.panels[0].rows == ["server", "worker 0", "worker 1, slow"]
    assert "x: workers compute 25% of the time" in alt_text(picture)


def test_load_falls_on_lines_over_the_workers_own():
    picture = draw_server_load({2: [8e6, 4e6], 4: [16e6, 8e6], 8: [32e6, 16e6]}, (1, 2), 4e6)
    lines = {name: [load / 1e6 for load in line.y] for name, line in picture.panels[0].lines.items()}
    assert lines == {"2 workers": [8, 4], "4 workers": [16, 8], "8 workers": [32, 16], "one worker": [4, 4]}


@pytest.mark.parametrize("crowds", [(2,), (2, 4), (2, 3, 4, 8, 16)])
def test_load_is_drawn_for_any_number_of_lines(crowds):
    picture = draw_server_load({workers: [workers * 4e6, workers * 2e6] for workers in crowds}, (1, 2), 4e6)
    assert len(picture.panels[0].lines) == len(crowds) + 1
    assert alt_text(picture).count("falling as 1 / servers") == len(crowds)


def test_a_load_that_does_not_fall_is_not_said_to():
    picture = draw_server_load({4: [16e6, 24e6]}, (1, 2), 4e6, origin="measured")
    assert "falling" not in alt_text(picture)
    assert "4 workers: the busiest server has 16 MB with 1 server, 24 MB with 2" in alt_text(picture)
    assert picture.origin == "measured"


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
