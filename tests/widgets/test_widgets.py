"""Explorers: a moved control changes the picture, and nothing else is drawn again."""

import base64
import re

import ipywidgets
import pytest

from course_lib.collectives import ALL_REDUCE_COSTS, ALL_REDUCES, ring_all_reduce
from course_lib.draw import finish, format_bytes, new_picture, styled
from course_lib.widgets import (
    AllReduceExplorer,
    Explorer,
    Panel,
    bytes_slider,
    menu,
    number,
    rate_slider,
    seconds_slider,
)


@styled
def staircase(ranks):
    picture, axes = new_picture(3, 2)
    axes.plot(range(ranks))
    return finish(picture, origin="computed", alt=f"a staircase of {ranks} steps")


def explorer_of(draw, **more):
    return Explorer(draw, ranks=number("ranks", 2, 16, 4), **more)


def shown(explorer, name="picture"):
    return explorer.views[name].value


def deadlocks(comm, tensor):
    comm.recv(tensor, (comm.rank + 1) % comm.world_size)


# The base


def test_a_moved_slider_changes_the_picture():
    explorer = explorer_of(staircase)
    before = shown(explorer)
    explorer.controls["ranks"].value = 9
    assert shown(explorer) != before
    assert 'alt="a staircase of 9 steps (computed)"' in shown(explorer)


def test_the_live_picture_is_an_image_with_a_text_alternative():
    alt, data = re.match(
        r'<img alt="([^"]+)" src="data:image/png;base64,([^"]+)"', shown(explorer_of(staircase))
    ).groups()
    assert alt == "a staircase of 4 steps (computed)"
    assert base64.b64decode(data).startswith(b"\x89PNG")


def test_without_a_kernel_the_page_keeps_a_png_and_a_text():
    explorer = explorer_of(staircase, caption=lambda ranks: f"{ranks} ranks climb")
    bundle, metadata = explorer._repr_mimebundle_()
    assert "application/vnd.jupyter.widget-view+json" in bundle
    assert base64.b64decode(bundle["image/png"]).startswith(b"\x89PNG")
    assert bundle["text/plain"] == "Explorer(ranks=4)\n4 ranks climb"
    assert metadata["image/png"]["alt"] == "a staircase of 4 steps (computed)"


def test_the_caption_is_announced_when_it_changes():
    explorer = explorer_of(staircase, caption=lambda ranks: f"{ranks} ranks")
    explorer.set(ranks=5)
    assert 'aria-live="polite"' in explorer.words.value
    assert ">5 ranks<" in explorer.words.value


def test_only_panels_that_need_a_control_are_drawn_again():
    panels = {
        "a": Panel(lambda ranks: f"<p>{ranks}</p>", ("ranks",)),
        "b": Panel(lambda size: f"<p>{size}</p>", ("size",)),
    }
    explorer = Explorer(panels, ranks=number("ranks", 2, 16, 4), size=bytes_slider("size", 1024))
    explorer.set(ranks=5)
    explorer.set(ranks=6)
    assert explorer.drawn == {"a": 3, "b": 1}
    assert shown(explorer, "a") == "<p>6</p>"


def test_several_controls_moved_together_draw_once():
    explorer = Explorer(
        lambda ranks, size: f"<p>{ranks} {size}</p>", ranks=number("ranks", 2, 16, 4), size=bytes_slider("size", 1024)
    )
    explorer.set(ranks=8, size=4096)
    assert explorer.drawn["picture"] == 2
    assert shown(explorer) == "<p>8 4096</p>"


def test_an_error_stands_in_the_place_of_the_picture_and_goes_away_again():
    def fragile(ranks):
        if ranks == 5:
            raise ValueError("five is <not> allowed")
        return "<p>fine</p>"

    explorer = explorer_of(fragile)
    explorer.set(ranks=5)
    assert 'role="alert"' in shown(explorer)
    assert "ValueError: five is &lt;not&gt; allowed" in shown(explorer)
    explorer.set(ranks=6)
    assert shown(explorer) == "<p>fine</p>"


def test_an_error_has_a_still_picture_too():
    def broken(ranks):
        raise ValueError("no picture today")

    bundle, metadata = explorer_of(broken)._repr_mimebundle_()
    assert "no picture today" in metadata["image/png"]["alt"]
    assert base64.b64decode(bundle["image/png"]).startswith(b"\x89PNG")


def test_the_same_error_in_several_panels_is_said_once():
    def broken(ranks):
        raise ValueError("once is enough")

    explorer = explorer_of({"a": Panel(broken), "b": Panel(broken)})
    assert "once is enough" in shown(explorer, "a")
    assert shown(explorer, "b") == ""


def test_a_plain_matplotlib_figure_is_refused_with_the_rule():
    from matplotlib.figure import Figure

    assert "must give a Picture" in shown(explorer_of(lambda ranks: Figure()))


def test_sliders_show_their_values_with_units():
    assert bytes_slider("size", 2**20).label == "1 MiB"
    assert seconds_slider("latency", 5e-6).label == "5 µs"
    assert rate_slider("rate", 12.5e9).label == "12.5 GB/s"
    assert menu("who", {"nobody": -1, "rank 0": 0}, -1).label == "nobody"


def test_a_slider_starts_at_the_choice_nearest_to_what_was_asked():
    assert bytes_slider("size", 1_000_000).value == 2**20


def test_reset_puts_every_control_back():
    explorer = Explorer(lambda ranks, size: "", ranks=number("ranks", 2, 16, 4), size=bytes_slider("size", 2**12))
    before = explorer.values
    explorer.set(ranks=9, size=2**20)
    explorer.reset.click()
    assert explorer.values == before


def test_a_moved_control_says_its_name_and_value_to_those_who_listen():
    explorer = explorer_of(staircase)
    explorer.controls["ranks"].value = 9
    assert ">ranks: 9. <" in explorer.words.value


# The all-reduce explorer


@pytest.fixture(scope="module")
def explorer():
    return AllReduceExplorer()


PANELS = ("numbers", "chunks", "links", "timeline", "map")


def drawn_by(explorer, **values):
    """Which panels a change draws again."""
    before = dict(explorer.drawn)
    explorer.set(**values)
    return {name for name in PANELS if explorer.drawn[name] > before[name]}


@pytest.mark.parametrize(
    ("change", "panels"),
    [
        ({"step": 2}, {"chunks", "links", "timeline"}),
        ({"message_bytes": 2**24}, {"numbers", "links", "timeline", "map"}),
        ({"latency_s": 1e-4}, {"numbers", "links", "timeline", "map"}),
        ({"straggler": 1}, {"numbers", "links", "timeline"}),
        ({"world_size": 4}, set()),
    ],
)
def test_a_change_draws_only_what_depends_on_it(change, panels):
    assert drawn_by(AllReduceExplorer(), **change) == panels


def test_a_step_runs_no_simulation_again():
    explorer = AllReduceExplorer(world_size=8)
    known = len(explorer.model._memory)
    for step in range(explorer.step_slider.max + 1):
        explorer.set(step=step)
    assert len(explorer.model._memory) == known


def test_every_control_changes_some_picture():
    for name, value in {
        "algorithm": "tree",
        "world_size": 6,
        "message_bytes": 2**28,
        "latency_s": 1e-3,
        "bytes_per_s": 1e8,
        "ranks_per_node": 2,
        "straggler": 2,
        "step": 4,
    }.items():
        explorer = AllReduceExplorer()
        before = {panel: shown(explorer, panel) for panel in PANELS}
        explorer.set(**{name: value})
        assert any(shown(explorer, panel) != before[panel] for panel in PANELS), name


@pytest.mark.parametrize("name", list(ALL_REDUCES))
@pytest.mark.parametrize("world_size", [2, 5, 16])
def test_every_algorithm_can_be_explored(explorer, name, world_size):
    explorer.set(algorithm=name, world_size=world_size, step=0)
    explorer.set(step=explorer.step_slider.max)
    assert not any("alert" in shown(explorer, panel) for panel in PANELS)
    assert f"{world_size**2} of {world_size**2} chunks hold the sum" in explorer.caption()


def test_prediction_and_clock_stand_side_by_side():
    facts = AllReduceExplorer(world_size=4, latency_s=1e-5, bytes_per_s=1e9, message_bytes=2**22)._facts
    values = AllReduceExplorer(world_size=4, latency_s=1e-5, bytes_per_s=1e9, message_bytes=2**22).values
    assert facts(values)["formula (computed)"] == facts(values)["clock (simulated)"] == "6.35 ms"  # 6 (α + n/4 β)
    slowed = facts({**values, "straggler": 0, "times_slower": 3})
    assert slowed["formula, no straggler (computed)"] == "6.35 ms"  # and says that it knows of none
    assert slowed["clock (simulated)"] == "19.1 ms"  # 6 (3 α + 3 n/4 β)


@pytest.mark.parametrize("name", [name for name in ALL_REDUCES if name not in ("pipelined ring", "double tree")])
@pytest.mark.parametrize("world_size", [2, 7, 8])
def test_steps_and_bytes_are_those_of_the_cost_formula(explorer, name, world_size):
    explorer.set(algorithm=name, world_size=world_size, message_bytes=2**20)
    facts, cost = explorer._facts(explorer.values), ALL_REDUCE_COSTS[name](2**20, world_size=world_size)
    sent = [format_bytes(count) for count in (min(cost.bytes_sent), max(cost.bytes_sent))]
    assert facts["steps"] == str(cost.steps)
    assert facts["in all"] == format_bytes(sum(cost.bytes_sent))
    assert facts["sent by a rank"] == " to ".join(dict.fromkeys(sent))


@pytest.mark.parametrize("name", ["pipelined ring", "double tree"])
def test_a_gigabyte_in_segments_stays_small_enough_to_answer(explorer, name):
    explorer.set(algorithm=name, world_size=16, message_bytes=2**30)
    assert len(explorer._report(explorer.values).trace.messages) <= 2000
    explorer.set(message_bytes=2**20, algorithm="ring")


def test_the_formula_knows_the_segments_that_the_program_uses():
    explorer = AllReduceExplorer(algorithm="pipelined ring", world_size=8, message_bytes=2**30)
    facts = explorer._facts(explorer.values)
    assert facts["formula (computed)"] == facts["clock (simulated)"]


def test_the_fastest_algorithm_is_asked_for_exactly_this_many_ranks(explorer):
    wires = AllReduceExplorer(bytes_per_s=1e9).values
    name, seconds = explorer.model.fastest(5, 2**28, _wires(wires))
    assert seconds == min(f(2**28, 5, _wires(wires).network) for f in explorer.model.formulas.values())
    assert name == "ring"


def _wires(values):
    from course_lib.widgets.all_reduce.view import _wires as wires_of

    return wires_of(values)


def test_the_step_slider_ends_where_the_algorithm_ends(explorer):
    explorer.set(algorithm="ring", world_size=8)
    assert explorer.step_slider.max == 14
    explorer.set(step=14)
    explorer.set(algorithm="direct")
    assert (explorer.step_slider.max, explorer.step_slider.value) == (1, 1)


def test_back_and_step_move_one_step_and_stop_at_the_ends():
    explorer = AllReduceExplorer(world_size=2, step=0)
    _, back, forward, slider = explorer.player
    back.click()
    assert slider.value == 0
    for _ in range(5):
        forward.click()
    assert slider.value == slider.max == 2
    back.click()
    assert slider.value == 1


def test_play_is_tied_to_the_step_slider(explorer):
    play = explorer.player[0]
    assert isinstance(play, ipywidgets.Play)
    assert play.value == AllReduceExplorer().step_slider.value == 1


def test_stragglers_are_the_ranks_that_exist():
    explorer = AllReduceExplorer(world_size=6, straggler=5)
    explorer.set(world_size=4)
    assert explorer.values["straggler"] == -1
    assert [label for label, _ in explorer.controls["straggler"].options] == [
        "nobody",
        "rank 0",
        "rank 1",
        "rank 2",
        "rank 3",
    ]


def test_nodes_are_not_larger_than_all_ranks():
    explorer = AllReduceExplorer(world_size=8, ranks_per_node=8)
    explorer.set(world_size=4)
    assert explorer.values["ranks_per_node"] == 0
    assert max(size for _, size in explorer.controls["ranks_per_node"].options) == 4


def test_how_much_slower_can_be_chosen_where_somebody_is():
    explorer = AllReduceExplorer()
    assert explorer.controls["times_slower"].disabled
    explorer.set(straggler=1)
    assert not explorer.controls["times_slower"].disabled


def test_reset_leads_back_from_fewer_ranks_and_other_steps():
    explorer = AllReduceExplorer(world_size=8, straggler=7, ranks_per_node=8, step=14)
    before = {name: view.value for name, view in explorer.views.items()}
    explorer.set(world_size=2, algorithm="direct")
    assert explorer.values["straggler"] == -1
    explorer.reset.click()
    assert {name: view.value for name, view in explorer.views.items()} == before
    assert explorer.values["step"] == 14


def test_every_step_has_a_caption_where_segments_make_more_steps_than_the_table_has():
    explorer = AllReduceExplorer(algorithm="double tree", world_size=4, message_bytes=2**30)
    explorer.set(step=explorer.step_slider.max)
    assert f"with all segments there are {explorer.step_slider.max} steps" in explorer.caption()
    assert "16 of 16 chunks hold the sum" in explorer.caption()


@pytest.mark.parametrize("world_size", range(2, 25))
def test_the_map_names_the_algorithm_that_is_the_fastest_here(world_size):
    explorer = AllReduceExplorer(world_size=world_size)
    name = explorer._facts(explorer.values)["fastest here (computed)"].split(",")[0]
    assert f"Marked: 1 MiB and {world_size} ranks, where {name} wins" in shown(explorer, "map")


def test_started_functions_have_a_lane_of_their_own():
    def starts(comm, tensor):
        work = comm.start(ring_all_reduce, tensor)
        comm.compute(1e-4)
        work.wait()

    def heights(program):
        picture = shown(AllReduceExplorer(program=program), "timeline").split('role="img"')[1]
        path = r'<path d="M[^h]+h[^v]+v([\d.]+)[^"]*" style="fill:(?:rgba|#8fd0bb)'
        return {float(height) for height in re.findall(path, picture)}

    program, beside = sorted(heights(starts))
    assert program < beside  # a thin strip for the program, and what it started below
    assert len(heights(ring_all_reduce)) <= 1


def test_pictures_carry_a_text_alternative_computed_from_the_run():
    explorer = AllReduceExplorer(world_size=4, step=3)
    labels = {name: re.search(r'<svg role="img" aria-label="([^"]+)"', shown(explorer, name))[1] for name in PANELS[1:]}
    assert labels["chunks"].startswith("At step 3 of 6, 4 of 16 chunks hold the sum of all 4 ranks; 4 changed")
    assert "4 of 12 links carry 6 MiB, 1.5 MiB each" in labels["links"]
    assert "24 messages in 6 steps" in labels["timeline"]
    assert "Marked: 1 MiB and 4 ranks" in labels["map"]


@pytest.mark.parametrize("step", [0, 1, 2, 4])
def test_the_links_and_messages_of_the_step_are_outlined(step):
    explorer = AllReduceExplorer(algorithm="tree", world_size=4, step=step)
    trace = explorer._report(explorer.values).trace
    now = [message for message in trace.messages if message.step == step]

    def outlined(name):
        found = re.findall(r'<path d="([^"]+)" style="fill:[^;]+;stroke:#d55e00', shown(explorer, name))
        return sum(path.count("M") for path in found)

    assert outlined("links") == len({(m.src, m.dst) for m in now})
    assert outlined("timeline") == 2 * len(now)  # where it is sent and where it is received


def test_every_number_names_its_origin():
    explorer = AllReduceExplorer()
    for name, origin in (
        ("chunks", "simulated"),
        ("links", "simulated"),
        ("timeline", "simulated"),
        ("map", "computed"),
    ):
        assert f"> {origin}</small>" in shown(explorer, name), name
    assert "formula (computed)" in shown(explorer, "numbers")
    assert "clock (simulated)" in shown(explorer, "numbers")


def test_text_and_lines_take_the_colors_of_the_theme():
    assert "var(--jp-content-font-color" in shown(AllReduceExplorer(), "timeline")


def test_a_program_of_ones_own_is_replayed():
    def my_ring(comm, tensor):
        ring_all_reduce(comm, tensor)

    mine, ring = AllReduceExplorer(program=my_ring, step=3), AllReduceExplorer(step=3)
    assert mine.values["algorithm"] == "mine: my_ring"
    assert [shown(mine, name) for name in PANELS[1:]] == [shown(ring, name) for name in PANELS[1:]]
    assert mine._facts(mine.values)["formula (computed)"] == "none"


def test_a_program_that_needs_numbers_gets_them():
    def branches(comm, tensor):
        ring_all_reduce(comm, tensor)
        if tensor.sum().item() < 0:
            raise AssertionError

    assert not any("alert" in shown(AllReduceExplorer(program=branches), panel) for panel in PANELS)


def test_a_program_that_sets_no_grad_can_be_explored():
    import torch

    def without_grad(comm, tensor):
        with torch.no_grad():
            ring_all_reduce(comm, tensor)

    explorer = AllReduceExplorer(program=without_grad)
    explorer.set(step=6)
    assert "16 of 16 chunks" in explorer.caption()


def test_a_deadlock_is_shown_and_the_explorer_goes_on():
    explorer = AllReduceExplorer(program=deadlocks)
    assert "DeadlockError: no rank can go on" in shown(explorer, "numbers")
    assert "waits in recv from 1" in shown(explorer, "numbers")
    assert [shown(explorer, name) for name in ("chunks", "links", "timeline")] == ["", "", ""]
    explorer.set(algorithm="ring")
    assert not any("alert" in shown(explorer, name) for name in PANELS)


def test_a_program_that_raises_shows_which_rank_and_why():
    def raises(comm, tensor):
        if comm.rank == 2:
            raise KeyError("lost")

    assert "RankError: rank 2 raised KeyError" in shown(AllReduceExplorer(program=raises), "numbers")


def test_more_ranks_than_the_chunk_table_holds_are_explored_without_it():
    explorer = AllReduceExplorer(world_size=24)
    assert "room for 16 ranks" in shown(explorer, "chunks")
    assert "alert" not in shown(explorer, "timeline")
    assert explorer.caption().startswith("Step 1 of 46. Messages of this step: 0 to 1, 1 to 2")


@pytest.mark.parametrize("program", [None, deadlocks])
def test_the_still_picture_says_what_the_setting_is(program):
    bundle, metadata = AllReduceExplorer(program=program, world_size=3)._repr_mimebundle_()
    assert base64.b64decode(bundle["image/png"]).startswith(b"\x89PNG")
    alt = metadata["image/png"]["alt"]
    assert ("no rank can go on" in alt) if program else ("ring, 3 ranks" in alt and "4 of" not in alt[:30])
    assert bundle["text/plain"].startswith("AllReduceExplorer(algorithm=")


def test_a_page_of_explorers_stays_small():
    biggest = sum(len(view.value) for view in AllReduceExplorer(world_size=24, algorithm="ring").views.values())
    assert biggest < 250_000  # characters to send when everything changes
