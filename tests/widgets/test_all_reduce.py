"""The all-reduce explorer: chunks, links, clock and map are those of the simulated run."""

import base64
import re

import ipywidgets
import pytest

from course_lib.collectives import ALL_REDUCE_COSTS, ALL_REDUCES, ring_all_reduce
from course_lib.draw import format_bytes
from course_lib.widgets import AllReduceExplorer
from course_lib.widgets.all_reduce import Wires

from . import parts
from .parts import facts_of

PANELS = {
    "chunks": "The ranks added up",
    "links": "Bytes from rank",
    "timeline": "Timeline",
    "map": "Fastest",
    "plans": "All plans",
}
SMALL = {"world_size": 4, "message_bytes": 1_000_000, "all_reduces": 1, "latency_s": 5e-6, "bytes_per_s": 10e9}


def small(*program, **more):
    """An explorer whose numbers are easy: one all-reduce of 1 MB among four ranks."""
    return AllReduceExplorer(*program, **(SMALL | more))


def part(explorer, name):
    return parts.part(explorer, PANELS[name])


def shown(explorer, name):
    return parts.shown(explorer, PANELS.get(name, ""))


def deadlocks(comm, tensor):
    comm.recv(tensor, (comm.rank + 1) % comm.world_size)


@pytest.fixture(scope="module")
def explorer():
    return small()


@pytest.mark.parametrize(
    ("change", "panels"),
    [
        ({"step": 2}, {"chunks", "timeline"}),  # a ring uses the same links in every step
        ({"message_bytes": 20_000_000}, {"numbers", "links", "timeline", "map", "plans"}),
        ({"all_reduces": 16}, {"numbers", "links", "timeline", "map", "plans"}),
        ({"latency_s": 1e-4}, {"numbers", "timeline", "map", "plans"}),
        ({"straggler": 1}, {"numbers", "timeline"}),
        ({"world_size": 4}, set()),
    ],
)
def test_a_change_changes_only_what_depends_on_it(change, panels):
    explorer, names = small(), ("numbers", *PANELS)
    before = {name: shown(explorer, name) for name in names}
    explorer.set(**change)
    assert {name for name in names if shown(explorer, name) != before[name]} == panels


def test_a_step_runs_no_simulation_again():
    explorer = small(world_size=8)
    known = len(explorer.model._memory)
    for step in range(explorer.step_slider.max + 1):
        explorer.set(step=step)
    assert len(explorer.model._memory) == known


def test_every_control_changes_some_picture():
    for name, value in {
        "algorithm": "tree",
        "world_size": 6,
        "message_bytes": 200_000_000,
        "all_reduces": 16,
        "latency_s": 1e-3,
        "bytes_per_s": 1e8,
        "ranks_per_node": 2,
        "straggler": 2,
        "step": 4,
    }.items():
        explorer = small()
        before = {panel: shown(explorer, panel) for panel in PANELS}
        explorer.set(**{name: value})
        assert any(shown(explorer, panel) != before[panel] for panel in PANELS), name


@pytest.mark.parametrize("name", list(ALL_REDUCES))
@pytest.mark.parametrize("world_size", [2, 5, 16])
def test_every_algorithm_can_be_explored(explorer, name, world_size):
    explorer.set(algorithm=name, world_size=world_size, step=0)
    explorer.set(step=explorer.step_slider.max)
    assert explorer.problem is None
    assert f"{world_size**2} of {world_size**2} chunks hold the sum" in explorer.caption


def test_prediction_and_clock_stand_side_by_side():
    explorer = small(world_size=4, latency_s=1e-5, bytes_per_s=1e9, message_bytes=2_000_000)
    facts = facts_of(explorer)
    assert facts["formula (computed)"] == facts["clock (simulated)"] == "3.06 ms"  # 6 (α + n/4 β)
    explorer.set(straggler=0, times_slower=3)
    slowed = facts_of(explorer)
    assert slowed["formula, no straggler (computed)"] == "3.06 ms"  # and says that it knows of none
    assert slowed["clock (simulated)"] == "9.18 ms"  # 6 (3 α + 3 n/4 β)


@pytest.mark.parametrize("name", [name for name in ALL_REDUCES if name not in ("pipelined ring", "double tree")])
@pytest.mark.parametrize("world_size", [2, 7, 8])
def test_steps_and_bytes_are_those_of_the_cost_formula(explorer, name, world_size):
    explorer.set(algorithm=name, world_size=world_size, message_bytes=1_000_000)
    facts, cost = facts_of(explorer), ALL_REDUCE_COSTS[name](1_000_000, world_size=world_size)
    sent = [format_bytes(count) for count in (min(cost.bytes_sent), max(cost.bytes_sent))]
    assert facts["steps"] == str(cost.steps)
    assert facts["in all"] == format_bytes(sum(cost.bytes_sent))
    assert facts["sent by a rank"] == " to ".join(dict.fromkeys(sent))


@pytest.mark.parametrize("name", ["pipelined ring", "double tree"])
def test_a_gigabyte_in_segments_stays_small_enough_to_answer(explorer, name):
    explorer.set(algorithm=name, world_size=16, message_bytes=10**9)
    assert len(explorer._report(explorer.setting).trace.messages) <= 2000
    explorer.set(message_bytes=1_000_000, algorithm="ring")


def test_the_formula_knows_the_segments_that_the_program_uses():
    explorer = small(algorithm="pipelined ring", world_size=8, message_bytes=10**9)
    facts = facts_of(explorer)
    assert facts["formula (computed)"] == facts["clock (simulated)"]


def test_the_fastest_algorithm_is_asked_for_exactly_this_many_ranks(explorer):
    wires = small(bytes_per_s=1e9).setting.wires
    name, seconds = explorer.model.fastest(5, 200_000_000, wires)
    assert seconds == min(f(200_000_000, 5, wires.network) for f in explorer.model.formulas.values())
    assert name == "ring"


@pytest.mark.parametrize("ranks_per_node", [None, 2, 4, 8])
@pytest.mark.parametrize("world_size", [3, 5, 12, pytest.param(23, marks=pytest.mark.exhaustive)])
def test_no_clock_beats_the_algorithm_that_is_called_the_fastest(explorer, world_size, ranks_per_node):
    for message_bytes in (1_000, 100_000, 20_000_000):
        wires = Wires(5e-6, 10e9, None if ranks_per_node is None else min(ranks_per_node, world_size))
        name, seconds = explorer.model.fastest(world_size, message_bytes, wires)
        clocks = {
            other: explorer.model.report(other, world_size, message_bytes, wires).seconds
            for other in explorer.model.programs
        }
        assert clocks[name] <= min(clocks.values()) * 1.005
        assert seconds == pytest.approx(clocks[name], rel=0.09)  # between nodes the formula of each with each is high


def test_the_step_slider_ends_where_the_algorithm_ends(explorer):
    explorer.set(algorithm="ring", world_size=8)
    assert explorer.step_slider.max == 14
    explorer.set(step=14)
    explorer.set(algorithm="direct")
    assert (explorer.step_slider.max, explorer.step_slider.value) == (1, 1)


def test_back_and_step_move_one_step_and_stop_at_the_ends():
    explorer = small(world_size=2, step=0)
    slider, _, back, forward = explorer.player
    back.click()
    assert slider.value == 0
    for _ in range(5):
        forward.click()
    assert slider.value == slider.max == 2
    back.click()
    assert slider.value == 1


def test_play_is_tied_to_the_step_slider(explorer):
    play = explorer.player[1]
    assert isinstance(play, ipywidgets.Play)
    assert play.value == small().step_slider.value == 1


def test_reset_stops_the_player() -> None:
    explorer = small()
    explorer.player[1].playing = True
    explorer.reset.click()
    assert not explorer.player[1].playing


def test_stragglers_are_the_ranks_that_exist():
    explorer = small(world_size=6, straggler=5)
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
    explorer = small(world_size=8, ranks_per_node=8)
    explorer.set(world_size=4)
    assert explorer.values["ranks_per_node"] == 0
    assert max(size for _, size in explorer.controls["ranks_per_node"].options) == 4


def test_how_much_slower_can_be_chosen_where_somebody_is():
    explorer = small()
    assert explorer.controls["times_slower"].disabled
    explorer.set(straggler=1)
    assert not explorer.controls["times_slower"].disabled


def test_reset_leads_back_from_fewer_ranks_and_other_steps():
    explorer = small(world_size=8, straggler=7, ranks_per_node=8, step=14)
    before = [view.value for view in explorer.views]
    explorer.set(world_size=2, algorithm="direct")
    assert explorer.values["straggler"] == -1
    explorer.reset.click()
    assert [view.value for view in explorer.views] == before
    assert explorer.values["step"] == 14


def test_every_step_has_a_caption_where_segments_make_more_steps_than_the_table_has():
    explorer = small(algorithm="double tree", world_size=4, message_bytes=10**9)
    explorer.set(step=explorer.step_slider.max)
    assert f"with all segments there are {explorer.step_slider.max} steps" in explorer.caption
    assert "16 of 16 chunks hold the sum" in explorer.caption


@pytest.mark.parametrize("world_size", [*range(2, 10), 12, 15, 16, 17, 24, 31, 32, 33, 43, 44])
def test_the_map_names_the_algorithm_that_is_the_fastest_here(world_size):
    explorer = small(world_size=world_size)
    name = facts_of(explorer)["fastest here (computed)"].split(",")[0]
    assert f"Marked: 1 MB and {world_size} ranks, where {name} wins" in shown(explorer, "map")


def test_started_functions_have_a_lane_of_their_own():
    def starts(comm, tensor):
        work = comm.start(ring_all_reduce, tensor)
        comm.compute(1e-4)
        work.wait()

    def heights(program):
        lanes = part(small(program=program), "timeline").lanes.values()
        return {lane.height for lane in lanes if lane.stretches and not lane.edge}

    program, beside = sorted(heights(starts))
    assert program < beside  # a thin strip for the program, and what it started below
    assert len(heights(ring_all_reduce)) <= 1


def test_pictures_carry_a_text_alternative_computed_from_the_run():
    explorer = small(world_size=4, step=3)
    labels = {name: re.search(r'<svg role="img" aria-label="([^"]+)"', shown(explorer, name))[1] for name in PANELS}
    assert labels["chunks"].startswith("At step 3 of 6, 4 of 16 chunks hold the sum of all 4 ranks; 4 changed")
    assert "4 of 12 links carry 6 MB, 1.5 MB each" in labels["links"]
    assert "24 messages in 6 steps" in labels["timeline"]
    assert "Marked: 1 MB and 4 ranks" in labels["map"]


@pytest.mark.parametrize("step", [0, 1, 2, 4])
def test_the_links_and_messages_of_the_step_are_outlined(step):
    explorer = small(algorithm="tree", world_size=4, step=step)
    trace = explorer._report(explorer.setting).trace
    now = [message for message in trace.messages if message.step == step]

    links = {(src, dst) for src, row in enumerate(part(explorer, "links").cells) for dst, c in enumerate(row) if c.now}
    bars = [s for lane in part(explorer, "timeline").lanes.values() for s in lane.stretches if s.now]
    assert links == {(m.src, m.dst) for m in now}
    assert len(bars) == 2 * len(now)  # where it is sent and where it is received
    drawn = re.findall(r'<path d="([^"]+)" style="fill:[^;]+;stroke:#e61e50', shown(explorer, "timeline"))
    assert sum(path.count("M") for path in drawn) == 2 * len(now)


def test_every_number_names_its_origin():
    explorer = small()
    for name, origin in (
        ("chunks", "simulated"),
        ("links", "simulated"),
        ("timeline", "simulated"),
        ("map", "computed"),
        ("plans", "computed"),
    ):
        assert f"> {origin}</small>" in shown(explorer, name), name
    assert "formula (computed)" in shown(explorer, "numbers")
    assert "clock (simulated)" in shown(explorer, "numbers")


def test_a_program_of_ones_own_is_replayed():
    def my_ring(comm, tensor):
        ring_all_reduce(comm, tensor)

    mine, ring = small(program=my_ring, step=3), small(step=3)
    assert mine.values["algorithm"] == "mine: my_ring"
    assert [shown(mine, name) for name in PANELS] == [shown(ring, name) for name in PANELS]
    assert facts_of(mine)["formula (computed)"] == "none"


def test_a_program_that_needs_numbers_gets_them():
    def branches(comm, tensor):
        ring_all_reduce(comm, tensor)
        if tensor.sum().item() < 0:
            raise AssertionError

    assert small(program=branches).problem is None


def test_a_program_that_sets_no_grad_can_be_explored():
    import torch

    def without_grad(comm, tensor):
        with torch.no_grad():
            ring_all_reduce(comm, tensor)

    explorer = small(program=without_grad)
    explorer.set(step=6)
    assert "16 of 16 chunks" in explorer.caption


def test_a_deadlock_is_shown_and_the_explorer_goes_on():
    explorer = small(program=deadlocks)
    assert "DeadlockError: no rank can go on" in shown(explorer, "numbers")
    assert "waits in recv from 1" in shown(explorer, "numbers")
    assert [shown(explorer, name) for name in PANELS] == [""] * len(PANELS)
    explorer.set(algorithm="ring")
    assert explorer.problem is None
    assert shown(explorer, "timeline")


def test_a_program_that_raises_shows_which_rank_and_why():
    def raises(comm, tensor):
        if comm.rank == 2:
            raise KeyError("lost")

    assert "RankError: rank 2 raised KeyError" in shown(small(program=raises), "numbers")


def test_more_ranks_than_the_chunk_table_holds_are_explored_without_it():
    explorer = small(world_size=24)
    assert shown(explorer, "chunks") == ""
    assert shown(explorer, "timeline")
    words = "Step 1 of 46. The chunk table has room for 16 ranks. Messages of this step: 0 to 1, 1 to 2"
    assert explorer.caption.startswith(words)


@pytest.mark.parametrize("program", [None, deadlocks])
def test_the_still_picture_says_what_the_setting_is(program):
    (bundle, metadata), *_ = small(program=program, world_size=3).bundles()
    assert base64.b64decode(bundle["image/png"]).startswith(b"\x89PNG")
    alt = metadata["image/png"]["alt"]
    assert ("no rank can go on" in alt) if program else "plan ring, ranks 3," in alt
    assert bundle["text/plain"].startswith("AllReduceExplorer(algorithm=")


def test_it_begins_with_eight_servers_of_the_chapter():
    explorer = AllReduceExplorer()
    facts = facts_of(explorer)
    assert facts["clock (simulated)"] == "7.14 ms"  # 14 (10 µs + 25 MB / 8 / 6.25 GB/s)
    assert facts["4 all-reduces (simulated)"] == "28.6 ms"
    assert "central, 225 ms" in shown(explorer, "plans")
    assert "goal: 125 ms" in shown(explorer, "plans")


def test_fourteen_all_reduces_are_the_most_that_a_ring_of_32_takes_in_40_ms():
    bars = {k: part(AllReduceExplorer(world_size=32, all_reduces=k), "plans").bars for k in (1, 14, 16, 161)}
    times = {k: next(time for name, [time] in _lengths(each) if name.startswith("ring")) for k, each in bars.items()}
    assert times == pytest.approx({k: 0.031 + k * 62e-5 for k in times}, rel=1e-3)
    assert times[14] < 0.040 < times[16]


def _lengths(bars):
    return [(name, list(parts.values())) for name, parts in bars.items()]


def test_many_all_reduces_share_the_bytes_in_whole_numbers():
    facts = facts_of(small(message_bytes=1_000, all_reduces=161))
    assert facts["in all"] == "24 B"  # of one: a single number, in chunks of one and of none


def test_a_page_of_explorers_stays_small():
    biggest = sum(len(view.value) for view in small(world_size=24, algorithm="ring").views)
    assert biggest < 250_000  # characters to send when everything changes
