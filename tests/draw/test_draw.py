"""Figures: data in, the right artists, labels and words out."""

import base64
import importlib
import inspect
import itertools
import pkgutil
import re
import struct
from functools import partial
from types import SimpleNamespace

import pytest
import torch
from matplotlib.colors import to_hex
from matplotlib.patches import FancyArrowPatch
from matplotlib.text import Text
from pictures_of_chapters import (
    GOALS,
    STEP,
    TRAINED,
    chapter_pictures,
    every_picture,
    more_pictures,
    simulated,
)

import course_lib.draw as draw
from course_lib import Link, Network, simulate
from course_lib.collectives import ALL_REDUCES, central_all_reduce, ring_all_reduce, tree_all_reduce
from course_lib.collectives.hierarchical import hierarchical_all_reduce
from course_lib.draw import colors, style
from course_lib.draw.chapters.collectives.chunks import chunk_cells
from course_lib.draw.chapters.collectives.definitions import COLLECTIVES, collective_states
from course_lib.draw.chapters.collectives.links import node_places, topology_links
from course_lib.draw.chapters.collectives.times import grid_place, winner_at
from course_lib.draw.colors import FILLS, LINES, Look, look_of, looks_of
from course_lib.draw.line_charts import Axis, draw_lines
from course_lib.draw.panels.drawing import Boxes, Marks, Polyline


def used_links(execution):
    """The links on which an execution really sent something."""
    return {(message.src, message.dst) for message in execution.trace.messages}


def texts(picture):
    return [text.get_text() for text in picture.findobj(Text) if text.get_text()]


def shapes(picture, kind):
    """All shapes of a kind that the picture's panels consist of."""
    return [shape for panel in picture.panels for shape in panel.drawing().shapes if isinstance(shape, kind)]


def keys(picture):
    return {key.text: key for panel in picture.panels for key in panel.drawing().legend}


@pytest.fixture(scope="module")
def pictures():
    three_scales = more_pictures()["three scales"]
    return {**every_picture(), **chapter_pictures(), "draw_three_scales": three_scales}


def test_every_draw_function_is_exported_and_among_these_tests(pictures):
    exported = {name for name in draw.__all__ if name.startswith("draw_")}
    written = {
        name
        for module in pkgutil.walk_packages(draw.__path__, "course_lib.draw.")
        for name in vars(importlib.import_module(module.name))
        if name.startswith("draw_")
    }
    assert set(pictures) == exported == written


def test_a_name_that_is_not_there_is_named():
    with pytest.raises(AttributeError, match="has no attribute 'draw_horses'"):
        draw.draw_horses  # noqa: B018


def test_every_picture_names_its_origin_at_the_lower_right(pictures):
    for name, picture in pictures.items():
        (label,) = [text for text in picture.texts if text.get_gid() == "origin"]
        assert any(origin in label.get_text() for origin in style.ORIGINS), name
        assert label.get_position()[0] > 0.9, name
        assert label.get_position()[1] < 0.1, name


def test_every_picture_says_in_words_what_it_shows(pictures, monkeypatch):
    monkeypatch.setattr(style.Picture, "small_png", lambda picture: b"")  # seconds of compressing, tried below
    for name, picture in pictures.items():
        assert len(draw.alt_text(picture)) >= 40, name
        bundle, metadata = picture.bundle()
        assert bundle["text/plain"] == metadata["image/png"]["alt"] == picture.alt, name


def test_a_picture_is_an_opaque_card_that_reads_on_dark_pages_too(pictures):
    for name, picture in pictures.items():
        assert picture.get_facecolor() == (1, 1, 1, 1), name


def test_the_same_data_give_the_same_png_without_a_software_stamp():
    first, second = (draw.draw_timeline(simulated(ring_all_reduce)).png() for _ in range(2))
    assert first == second
    assert b"matplotlib" not in first.lower()


def test_pictures_leave_no_trace_in_pyplot_or_its_settings():
    import matplotlib

    before = dict(matplotlib.rcParams)
    draw.draw_timeline(simulated(ring_all_reduce)).png()
    assert dict(matplotlib.rcParams) == before
    pyplot = inspect.sys.modules.get("matplotlib.pyplot")
    assert pyplot is None or pyplot.get_fignums() == []


def test_an_origin_that_the_course_does_not_know_is_refused():
    with pytest.raises(ValueError, match=r"must name one of measured, .* got 'guessed'"):
        draw.draw_bars({"ring": 1.0}, "seconds", origin="guessed")


def test_every_algorithm_has_a_look():
    assert set(ALL_REDUCES) <= set(colors.LINES["algorithms"])


def test_an_unknown_name_keeps_its_look_in_every_process():
    assert draw.look_of("my ring") == Look("#667f1a", "8", "solid")


def test_things_of_one_kind_differ_and_unknown_names_look_like_none_of_them():
    for kind, looks in LINES.items():
        for part in ("color", "marker", "dash"):
            assert len({str(getattr(look, part)) for look in looks.values()}) == len(looks), (kind, part)
    for kind, fills in FILLS.items():
        assert len(set(fills.values())) == len(fills), kind
    known = {look.color for looks in LINES.values() for look in looks.values()}
    known |= {fill.color for fills in FILLS.values() for fill in fills.values()}
    others = looks_of([f"name {number}" for number in range(8)])
    assert known & {look.color for look in others.values()} == set()
    assert len({look.color for look in others.values()}) == 8


@pytest.mark.parametrize(
    ("name", "policy"),
    [
        ("synchronous, all equal", "synchronous"),
        ("synchronous, 2 backups", "backup workers"),
        ("with backup workers", "backup workers"),
        ("4-softsync", "softsync"),
        ("n-softsync", "softsync"),
        ("stale-synchronous, slack 2", "bounded"),
        ("asynchronous, one slow", "asynchronous"),
    ],
)
def test_a_policy_has_one_look_whatever_its_numbers(name, policy):
    assert look_of(name) == LINES["policies"][policy] == looks_of(["x", name])[name]


def test_a_bound_has_the_color_of_what_it_bounds():
    assert look_of("bound, ring").color == look_of("ring").color
    assert look_of("bound, ring").dash != look_of("ring").dash
    assert look_of("bound, of mine") not in LINES["algorithms"].values()


def test_a_history_that_is_a_band_is_wider_than_what_lies_on_it():
    picture = draw.draw_losses({"a": TRAINED, "b": TRAINED}, "updates", band="a")
    wide, thin = (c for c in shapes(picture, Polyline) if c.color.startswith("#"))
    assert wide.width_px > 2 * thin.width_px


def test_a_name_that_only_begins_like_a_policy_is_none():
    assert look_of("asynchronous gossip") not in LINES["policies"].values()


def test_figures_and_explorers_take_their_colors_from_one_table(pictures):
    def colors(picture):
        found = {shape.color for shape in shapes(picture, Boxes | Polyline)} - {"faint", "ink", "lined"}
        return found | {to_hex(patch.get_facecolor()) for axes in picture.axes for patch in axes.patches}

    passes = {name: fill.color for name, fill in FILLS["passes"].items()}
    assert colors(pictures["draw_steps"]) >= {passes["forward"], passes["backward"]}
    run = passes["forward"], passes["backward"], passes["all-reduce, waited for"]
    assert colors(pictures["draw_run_minutes"]) >= {*run}
    assert colors(pictures["draw_training_step"]) >= {passes["forward"], passes["backward"], passes["update"]}
    parts = draw.draw_bars({"backward": 1.0, "forward": 2.0}, "seconds", origin="measured")
    assert colors(parts) == {passes["backward"], passes["forward"]}
    for name in ("asynchronous", "2-softsync"):
        assert look_of(name).color in colors(draw.draw_losses({"other": TRAINED, name: TRAINED}))
    adam = draw.draw_memory_bars({"a": {"Adam's mean": 1e9}, "b": {"fp32 copy": 1e9}})
    assert colors(adam) >= {FILLS["memory"]["Adam's mean"].color, FILLS["memory"]["fp32 copy"].color}


@pytest.mark.parametrize("low_s", [6e-4, 0.02, 1.9])
@pytest.mark.parametrize("ratio", [1.2, 9.0, 28.0, 1e4])
def test_a_logarithmic_axis_has_three_labels_at_least(low_s, ratio):
    picture = draw.draw_seconds_curves([draw.Curve("ring", [1024, 4096], [low_s, low_s * ratio], "computed")])
    assert len(picture.panels[0].y.ticks) >= 3


# Origins


def test_a_history_says_itself_where_it_is_from():
    measured = SimpleNamespace(**vars(TRAINED), origin="measured")
    mixed = {"processes": measured, "asynchronous": TRAINED}
    assert draw.draw_losses({"a": measured}).origin == draw.draw_staleness({"a": measured}).origin == "measured"
    assert draw.draw_losses(mixed).origin == draw.draw_staleness(mixed).origin == "measured, simulated"
    assert draw.draw_losses(mixed, origin="emulated").origin == "emulated"


def test_only_simulated_time_is_called_virtual():
    measured = SimpleNamespace(**vars(TRAINED), origin="measured")
    assert draw.draw_losses({"a": TRAINED}).panels[0].x.name == "virtual time (s)"
    assert draw.draw_losses({"a": measured}).panels[0].x.name == "time (s)"


def test_a_fitted_curve_is_called_computed():
    picture = draw.draw_goals(GOALS, critical=8.0, fewest=10.0)
    assert picture.origin == "measured, computed"
    assert "fewest × (1 + critical / batch), computed" in texts(picture)


def test_loads_of_several_origins_name_them_all():
    simulation = simulated(ring_all_reduce)
    emulation = SimpleNamespace(trace=simulation.trace, origin="emulated")
    assert draw.draw_bytes_per_rank({"a": simulation, "b": emulation}).origin == "simulated, emulated"


def test_text_on_every_fill_has_a_contrast_of_four_to_one():
    fills = [known.color for known in colors.LINES["algorithms"].values()] + [
        colors.fraction_color(i / 10) for i in range(11)
    ]
    for fill in fills:
        light, dark = sorted((colors.luminance(fill), colors.luminance(colors.ink_on(fill))), reverse=True)
        assert (light + 0.05) / (dark + 0.05) >= 4, fill


# Timeline


def test_the_timeline_has_a_bar_for_each_message_at_its_time():
    report = simulated(central_all_reduce, 3)
    bars = [(x, x + wide) for each in shapes(draw.draw_timeline(report), Boxes) for x, _, wide, _ in each.where]
    spans = [(m.start_s, m.end_s) for m in report.trace.messages for _ in ("send", "receive")]
    spans += [(wait.start_s, wait.end_s) for wait in report.trace.waits]
    shares = sorted((start / report.seconds, end / report.seconds) for start, end in spans)
    assert sorted(bars) == [pytest.approx(share) for share in shares]


def test_the_timeline_says_who_waits_longest():
    picture = draw.draw_timeline(simulated(central_all_reduce, 3))
    assert "Rank 2 waits longest with nothing on the wire" in picture.alt
    assert "3 ranks over 20 ms: 4 messages in 2 steps" in picture.alt


def test_the_timeline_labels_its_axes_with_units():
    shown = texts(draw.draw_timeline(simulated(ring_all_reduce)))
    assert {"time in ms", "rank 0", "rank 3"} <= set(shown)


def test_work_appears_in_the_legend_only_if_there_is_some():
    def works(comm, tensor):
        comm.compute(1e-3)
        ring_all_reduce(comm, tensor)

    assert "works" in texts(draw.draw_timeline(simulated(works)))
    assert "works" not in texts(draw.draw_timeline(simulated(ring_all_reduce)))


def test_a_program_without_messages_still_has_a_timeline():
    assert "0 messages" in draw.draw_timeline(simulate(lambda comm: None, 2)).alt


def test_a_thousand_ranks_are_drawn_as_thirty_two_rows():
    (panel,) = draw.draw_timeline(simulated(tree_all_reduce, 1024)).panels
    assert (len(panel.rows), panel.rows[0], panel.rows[-1]) == (32, "0", "1023")


# Links and loads


def test_the_heat_map_writes_the_bytes_of_every_link():
    picture = draw.draw_link_heatmap(simulated(ring_all_reduce, 4, 4000))
    numbers = [[cell.text for cell in row] for row in picture.panels[0].cells]  # kB
    assert numbers == [["", "6", "0", "0"], ["0", "", "6", "0"], ["0", "0", "", "6"], ["6", "0", "0", ""]]
    assert "4 of 12 links carry 24 kB, 6 kB each" in picture.alt


def test_the_heat_map_names_the_busiest_link_where_links_differ():
    def uneven(comm):
        if comm.rank == 0:
            comm.send(torch.zeros(10), 1)
            comm.send(torch.zeros(20), 2)
        else:
            comm.recv(torch.zeros(10 * comm.rank), 0)

    assert "the busiest, 0 to 2, 80 B" in draw.draw_link_heatmap(simulate(uneven, 3)).alt


def test_the_bars_have_the_height_of_the_bytes():
    picture = draw.draw_bytes_per_rank({"central": simulated(central_all_reduce, 4, 4000)})
    sent, received = ([box[3] for box in each.where] for each in shapes(picture, Boxes))
    assert sent == received == [sent[0], *[pytest.approx(sent[0] / 3)] * 3]
    assert "central: ranks send 4 kB to 12 kB, the most received is 12 kB" in picture.alt


def test_sent_and_received_are_not_mixed_up():
    def give(comm):
        comm.send(torch.zeros(250), 1) if comm.rank == 0 else comm.recv(torch.zeros(250), 0)

    picture = draw.draw_bytes_per_rank({"give": simulate(give, 2)})
    assert picture.panels[0].bars == {"0": {"sent": 1000, "received": 0}, "1": {"sent": 0, "received": 1000}}


# Chunks


def test_the_chunk_table_writes_whose_numbers_are_summed():
    story = draw.replay(ring_all_reduce, 3)
    assert [cell.text for cell in chunk_cells(story, 0)[1]] == ["1", "1", "1"]
    assert {cell.text for row in chunk_cells(story, story.steps) for cell in row} == {"all"}
    assert draw.draw_chunk_steps(story, [0]).alt.startswith("At the start, 0 of 9 chunks hold the sum of all 3 ranks")


def test_the_chunk_table_outlines_what_changed_in_a_step():
    story = draw.replay(ring_all_reduce, 4)
    assert sum(cell.changed for row in chunk_cells(story, 1) for cell in row) == 4
    assert not any(cell.changed for row in chunk_cells(story, 0) for cell in row)


def test_a_rank_counted_twice_stands_out_in_the_chunk_table():
    def twice(comm, tensor):
        tensor += tensor

    picture = draw.draw_chunk_steps(draw.replay(twice, 2))
    assert "2×1" in texts(picture)
    assert "4 count some rank more than once" in picture.alt


def test_chunk_steps_draw_the_steps_asked_for():
    picture = draw.draw_chunk_steps(draw.replay(ring_all_reduce, 4), steps=[0, 3, 6])
    assert [panel.title for panel in picture.panels] == ["start", "step 3", "step 6"]


# Curves and the map


def test_the_origin_of_a_curve_decides_how_it_looks():
    names = ("measured", "emulated", "simulated", "published")
    curves = [draw.Curve("ring", [1024, 2048], [1e-3, 2e-3], origin) for origin in names]
    picture = draw.draw_seconds_curves(curves)
    measured, emulated, published = shapes(picture, Marks)
    (line,) = [curve for curve in shapes(picture, Polyline) if curve.color == look_of("ring").color]
    assert (measured.symbol, measured.open, measured.color) == ("o", False, line.color)
    assert (emulated.symbol, emulated.open) == ("o", True)
    assert (line.dash, line.opacity) == ((), 1)
    assert published.symbol == "x"


def test_no_two_origins_look_alike_in_a_picture_or_in_its_legend():
    curves = [draw.Curve("ring", [1000, 2000], [1e-3, 2e-3], origin) for origin in style.ORIGINS[:5]]
    picture = draw.draw_seconds_curves(curves)
    ways = {line.drawn for line in picture.panels[0].lines["ring"]}
    assert ways == {"dots", "open dots", "band", "line", "crosses"}
    samples = [key._replace(text="") for name, key in keys(picture).items() if name in style.ORIGINS]
    assert len(set(samples)) == 5


def test_a_logarithmic_axis_names_three_numbers_or_more_however_short_it_is():
    rates = {"files": ([640, 5_200, 55_000], [300, 1_000, 2_600])}
    (panel,) = draw_lines(rates, Axis("bytes a file", log=True), Axis("MB/s", log=True)).panels
    for axis in (panel.x, panel.y):
        assert sum(axis.low <= tick <= axis.high for tick in axis.ticks) >= 3


def test_a_pictures_words_round_to_three_digits_and_leave_whole_numbers_as_they_are():
    picture = draw_lines({"law": ([2, 1024], [37.33971, 32768])}, Axis("x"), Axis("y"), marks={"here": 0.123456})
    assert "law from 37.3 at 2 to 32768 at 1024. here: 0.123." in picture.alt
    weights = draw_lines({"fp16": ([1, 16], [1.00049, 1.00781])}, Axis("x"), Axis("weight", "{:.4f}".format))
    assert "fp16 from 1.0005 at 1 to 1.0078 at 16." in weights.alt


def test_a_name_that_is_simulated_beside_computed_ones_has_its_band_in_the_legend():
    lines = {"law": ([1, 2], [1, 2]), "counted": ([1, 2], [1, 2], "simulated")}
    found = keys(draw_lines(lines, Axis("x"), Axis("y")))
    assert {name: key.band for name, key in found.items()} == {"law (computed)": False, "counted (simulated)": True}


def test_an_origin_has_an_entry_of_its_own_only_where_names_share_it_or_there_are_many():
    line = ([1, 2], [1, 2])
    both = {"ring": line, "tree": (*line, "measured"), "star": line, "mesh": line}
    assert list(keys(draw_lines(both, Axis("x"), Axis("y")))) == [*both, "computed", "measured"]
    twice = [("ring", *line, "computed"), ("ring", *line, "measured")]
    assert list(keys(draw.draw_seconds_curves(twice, "ranks"))) == ["ring", "computed", "measured"]


def test_curves_are_drawn_where_their_numbers_lie():
    picture = draw.draw_seconds_curves([("tree", [2, 4, 8], [1.0, 2.0, 3.0], "simulated")], x="ranks")
    (panel,) = picture.panels
    (line,) = panel.lines["tree"]
    assert (list(line.x), list(line.y)) == ([2, 4, 8], [1.0, 2.0, 3.0])
    assert (panel.x.log, panel.y.log) == (True, True)
    assert "tree (simulated) from 1 s at 2 ranks to 3 s at 8 ranks" in picture.alt


def test_curves_over_anything_but_bytes_and_ranks_are_refused():
    with pytest.raises(ValueError, match="got 'nodes' and 1 curves"):
        draw.draw_seconds_curves([("tree", [2], [1.0], "simulated")], x="nodes")


def test_the_fitted_line_passes_through_latency_plus_bytes_over_bandwidth():
    (panel,) = draw.draw_alpha_beta_fit([1000, 2000, 4000], [2.0, 3.0, 5.0], 1.0, 1000.0).panels
    points, line = panel.lines.values()
    assert list(zip(points.x, points.y, strict=True)) == [(1000, 2), (2000, 3), (4000, 5)]
    assert list(line.y) == [pytest.approx(1 + size / 1000) for size in line.x]


@pytest.mark.parametrize("vectorized", [True, False])
def test_the_map_holds_the_fastest_at_every_point(vectorized):
    def flat(message_bytes, world_size):
        return 3000.0 + 0 * message_bytes if vectorized else 3000.0

    winners = draw.winner_map({"ring": lambda b, p: b * p / 2, "tree": flat}, [1000, 2000, 4000], [2, 4])
    assert winners.names == (("ring", "ring", "tree"), ("ring", "tree", "tree"))
    assert winner_at(winners, 4100, 2) == "tree"
    picture = draw.draw_winner_map(winners, here=(2000, 4))
    assert "ring on 50%, tree on 50%" in picture.alt
    assert "Marked: 2 kB and 4 ranks, where tree wins" in picture.alt


def test_of_equally_fast_algorithms_the_first_named_wins():
    winners = draw.winner_map({"b": lambda n, p: 1.0, "a": lambda n, p: 1.0 - 1e-15}, [1, 2], [2])
    assert winners.names == (("b", "b"),)


def test_the_mark_lies_between_the_grid_points():
    assert [grid_place(x, (2, 4, 8)) for x in (1, 2, 3, 6, 8, 9)] == [0, 0, 0.5, 1.5, 2, 2]


# Topologies


@pytest.mark.parametrize(
    ("algorithm", "links"), [("direct", 56), ("central", 14), ("ring", 8), ("tree", 14), ("halving-doubling", 24)]
)
def test_a_topology_of_eight_has_the_links_of_the_textbook(algorithm, links):
    assert len(topology_links(8, algorithm)) == links


@pytest.mark.parametrize("world_size", [1, 2, 3, 4, 5, 6, 7, 8, 9, 16])
@pytest.mark.parametrize("algorithm", ["direct", "central", "ring", "tree"])
def test_the_drawn_links_are_those_that_the_program_uses(algorithm, world_size):
    assert topology_links(world_size, algorithm) == used_links(simulated(ALL_REDUCES[algorithm], world_size))


@pytest.mark.parametrize("algorithm", ["recursive doubling", "halving-doubling"])
@pytest.mark.parametrize("world_size", [2, 3, 4, 5, 6, 7, 8, 9, 16])
def test_the_hypercube_is_what_the_doubling_algorithms_use(algorithm, world_size):
    assert topology_links(world_size, algorithm) == used_links(simulated(ALL_REDUCES[algorithm], world_size))


@pytest.mark.parametrize(("world_size", "ranks_per_node"), [(1, 2), (4, 2), (5, 2), (8, 4), (8, 2), (9, 3), (7, 8)])
def test_the_drawn_nodes_are_those_of_the_hierarchical_program(world_size, ranks_per_node):
    program = partial(hierarchical_all_reduce, ranks_per_node=ranks_per_node)
    assert topology_links(world_size, "hierarchical", ranks_per_node) == used_links(simulated(program, world_size))


@pytest.mark.parametrize("world_size", [1, 2, 4, 5, 8, 12])
@pytest.mark.parametrize("algorithm", ["direct", "central", "ring", "tree", "halving-doubling", "hierarchical"])
def test_no_two_ranks_stand_on_the_same_spot(algorithm, world_size):
    places = node_places(world_size, algorithm)
    assert len(places) == world_size
    for (x1, y1), (x2, y2) in itertools.combinations(places, 2):
        assert abs(x1 - x2) + abs(y1 - y2) > 0.05


def test_a_topology_has_one_arrow_a_pair():
    arrows = draw.draw_topology(4, "tree").axes[0].patches
    assert sum(isinstance(patch, FancyArrowPatch) for patch in arrows) == 3


def test_an_unknown_topology_is_refused():
    with pytest.raises(ValueError, match="no topology is known for 'star'"):
        draw.draw_topology(4, "star")


# Schemes


@pytest.mark.parametrize("name", COLLECTIVES)
def test_collectives_neither_lose_nor_invent_chunks(name):
    before, after = collective_states(name, 4)
    sources = {cell[-1] for row in before for cell in row if cell}
    assert {cell[-1] for row in after for cell in row if cell} == sources


def test_all_to_all_transposes():
    before, after = collective_states("all_to_all", 3)
    assert after == [list(row) for row in zip(*before, strict=True)]


def test_memory_bars_say_what_does_not_fit():
    picture = draw.draw_memory_bars({"small": {"a": 1e9}, "big": {"a": 60e9, "b": 60e9}}, limits={"card": 80e9})
    assert "card has 80 GB, too little for big" in picture.alt
    boxes = [box[2] for each in shapes(picture, Boxes) for box in each.where]
    assert sum(boxes) == pytest.approx(max(boxes) / 60 * 121)


def test_a_logarithmic_axis_refuses_zero():
    with pytest.raises(ValueError, match="above 0 only, got 0"):
        draw.draw_bars({"a": 0, "b": 1}, "bytes", origin="computed", log=True)


def test_parallelism_has_room_for_four_devices():
    with pytest.raises(ValueError, match="2 to 4 devices, got 5"):
        draw.draw_parallelism(5)


def test_minutes_of_a_run_are_its_steps_and_each_plan_says_its_error():
    words = draw.alt_text(draw.draw_run_minutes({"overlapped": (STEP, 23.6)}, 60_000, wanted=75.2))
    assert f"overlapped: {1000 * STEP.seconds:.0f} min, 23.6% wrong" in words
    assert "wanted 75" in words


def test_seconds_of_a_step_are_its_work_and_its_waiting_on_an_axis_that_stays():
    one, both = {"one": (20, 0)}, {"one": (20, 0), "eight": (2.5, 17.92)}
    pictures = [draw.draw_step_seconds(plans) for plans in (one, both, {"long": (1, 40)})]
    assert [picture.panels[0].axis.high for picture in pictures] == [21, 21, 41]
    assert pictures[1].panels[0].bars["eight"] == {"work": 2.5, "waits for messages": 17.92}
    assert "one 20, eight 20.4 (waiting 17.9)" in draw.alt_text(pictures[1])
    with pytest.raises(ValueError, match="a plan to draw, got none"):
        draw.draw_step_seconds({})


def test_every_rank_of_the_replicas_has_a_copy_of_the_model_and_a_gradient():
    words = texts(draw.draw_replicas(3, part=5))
    assert "one batch of 15 examples" in words
    assert [words.count(word) for word in ("5", "the whole\nmodel", "gradient", "rank 2")] == [3, 3, 3, 1]


def test_replicas_have_room_for_five_ranks():
    with pytest.raises(ValueError, match="2 to 5 ranks, got 6"):
        draw.draw_replicas(6)


@pytest.mark.parametrize(("workers", "servers"), [(4, 1), (3, 2), (6, 6)])
def test_every_worker_pushes_to_and_pulls_from_every_server(workers, servers):
    axes = draw.draw_parameter_server(workers, servers).axes[0]
    arrows = [patch for patch in axes.patches if isinstance(patch, FancyArrowPatch)]
    assert len(arrows) == 2 * workers * servers + 2  # two of them in the legend


def test_a_parameter_server_without_workers_is_refused():
    with pytest.raises(ValueError, match="room for 1 to 6 workers and servers, got 0 and 2"):
        draw.draw_parameter_server(0, 2)


def test_a_hierarchical_network_can_be_drawn_from_its_trace():
    network = Network(1e-6, 1e9, ranks_per_node=2, outside=Link(1e-5, 1e8))
    assert draw.draw_timeline(simulated(ring_all_reduce, network=network)).origin == "simulated"


def test_a_stored_picture_is_as_wide_as_the_figure_and_has_twice_the_pixels():
    picture = draw.draw_training_step()
    data, metadata = picture.bundle()
    width, height = struct.unpack(">II", base64.b64decode(data["image/png"])[16:24])
    assert (width, height) == tuple(int(inches * 220) for inches in picture.get_size_inches())
    assert metadata["image/png"]["width"] == int(picture.get_size_inches()[0] * 110)


def test_a_picture_shows_its_words_below_it(monkeypatch):
    shown = []
    monkeypatch.setattr("IPython.display.display", lambda data, **_: shown.append(data))
    picture = draw.draw_bars({"a < b": 1.0}, "seconds", origin="computed")
    picture._ipython_display_()
    assert [set(data) for data in shown] == [{"image/png", "text/plain"}, {"text/html"}]
    assert "a &lt; b: 1 s. (computed)</details>" in shown[1]["text/html"]


def test_a_figure_is_stored_for_narrow_pages_too_with_all_its_words() -> None:
    picture = draw.draw_bars(
        {"ring": 1.0, "tree": 2.0}, "seconds", origin="computed", title="Ring wins", note="8 ranks"
    )
    stored = picture.bundle()[1]["image/png"]["narrow"]
    narrow = style.unpacked(stored)
    assert len(stored) < len(narrow) / 2
    shown = re.findall(r">([^<>]+)<", narrow)
    assert {"Ring wins", "ring", "tree", "1 s", "2 s", "8 ranks · computed"} <= set(shown)
    assert 'role="img"' in narrow
