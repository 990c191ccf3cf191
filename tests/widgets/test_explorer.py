"""Explorers: a moved control changes the pictures, and what looks as before is not sent again."""

import base64
import gc
import math
import re
import threading

import pytest
from matplotlib.text import Text

from course_lib.draw import new_picture
from course_lib.widgets import (
    CheckpointExplorer,
    DecompositionExplorer,
    Explorer,
    FaultsExplorer,
    Line,
    Lines,
    MeshExplorer,
    PipelineExplorer,
    PrecisionExplorer,
    ScalingExplorer,
    Table,
    axis,
    bytes_slider,
    menu,
    number,
    rate_slider,
    scale,
    seconds_slider,
)
from course_lib.widgets.controls import step_player, step_slider


@pytest.mark.parametrize(
    ("explorer", "asked", "said"),
    [
        (MeshExplorer, {"model": "GPT-5"}, "model must be one of GPT 1.7 B, Narayanan, .*, got 'GPT-5'"),
        (MeshExplorer, {"tensor": 0}, "tensor must be a whole number from 1, got 0"),
        (MeshExplorer, {"gpus": "64"}, "gpus must be a whole number from 1, got '64'"),
        (MeshExplorer, {"rank": None}, "rank must be a whole number from 0, got None"),
        (FaultsExplorer, {"step": "2"}, "step must be a whole number, got '2'"),
        (CheckpointExplorer, {"step": math.nan}, "must be a whole number, got nan"),
        (ScalingExplorer, {"bytes_per_s": math.nan}, "link must be from .* to .*, got nan"),
        (PipelineExplorer, {"own": "1F1B"}, "own must be a Schedule, got a str"),
        (PrecisionExplorer, {"gradients": [1.0]}, "gradients must be a tensor, got a list"),
        (DecompositionExplorer, {"own": [1.0]}, "your own must be a tensor, got a list"),
    ],
)
def test_what_an_explorer_cannot_be_asked_for_is_refused_by_its_name(explorer, asked, said):
    with pytest.raises((TypeError, ValueError), match=said):
        explorer(**asked)


def staircase(ranks):
    x = axis("step", [ranks])
    lines = {"stairs": Line(range(ranks), range(ranks))}
    return Lines(title="Stairs", origin="computed", label=f"a staircase of {ranks} steps", lines=lines, x=x, y=x)


def facts(ranks):
    return [f"{ranks} ranks climb.", Table({"ranks": str(ranks)}, "computed"), staircase(ranks)]


def explorer_of(pictures):
    return Explorer(pictures, ranks=number("ranks", 2, 16, 4))


def shown(explorer, place=0):
    return explorer.views[place].value


def test_a_moved_slider_changes_the_picture():
    explorer = explorer_of(staircase)
    before = shown(explorer)
    explorer.controls["ranks"].value = 9
    assert shown(explorer) != before
    assert 'aria-label="a staircase of 9 steps"' in shown(explorer)


def test_a_panel_that_is_remembered_is_not_drawn_again(monkeypatch):
    stairs, drawn = staircase(3), []
    monkeypatch.setattr(Lines, "drawing", lambda panel, draw=Lines.drawing: drawn.append(panel) or draw(panel))
    explorer = explorer_of(lambda ranks: [stairs, staircase(ranks)])
    before = shown(explorer)
    explorer.controls["ranks"].value = 9
    assert [panel is stairs for panel in drawn] == [True, False, False]
    assert shown(explorer) == before


def test_without_a_kernel_the_page_keeps_a_png_a_text_and_the_way_to_move_it():
    explorer = explorer_of(facts)
    (still, metadata), (note, _), (live, _) = explorer.bundles()
    view = "application/vnd.jupyter.widget-view+json"
    assert live == {view: explorer.box._repr_mimebundle_()[view]}  # this method is ipywidgets 8's
    assert base64.b64decode(still["image/png"]).startswith(b"\x89PNG")
    assert still["text/plain"] == "Explorer(ranks=4)\n4 ranks climb."
    alt = metadata["image/png"]["alt"]
    assert alt == "Explorer with ranks 4. 4 ranks climb. ranks 4 a staircase of 4 steps (computed)"
    assert 'class="explorer-note"' in note["text/html"]
    assert f"</summary>{alt}<" in note["text/html"]
    (said,) = [text for text in explorer_of(facts).still().texts if text.get_gid() == "note"]
    assert said.get_text() == "run this cell to move it"


def test_live_and_still_draw_the_same_panels():
    explorer = explorer_of(facts)
    words = {text.get_text() for text in explorer.still().findobj(Text)}
    assert {"Stairs", "ranks", "4"} <= words
    assert explorer.still().origin == "computed"


def test_the_sentence_follows_the_control():
    explorer = explorer_of(facts)
    explorer.set(ranks=5)
    assert ">5 ranks climb.<" in explorer.words.value


def test_what_looks_as_before_is_not_sent_again():
    explorer = Explorer(
        lambda ranks, size: [Table({"ranks": str(ranks)}, "computed"), Table({"size": str(size)}, "computed")],
        ranks=number("ranks", 2, 16, 4),
        size=bytes_slider("size", 1000),
    )
    sent = []
    for place, view in enumerate(explorer.views):
        view.observe(lambda change, place=place: sent.append(place), names="value")
    explorer.set(ranks=5)
    explorer.set(ranks=6)
    assert sent == [0, 0]


def test_several_controls_moved_together_draw_once():
    calls = []
    explorer = Explorer(
        lambda ranks, size: calls.append((ranks, size)) or f"{ranks} {size}",
        ranks=number("ranks", 2, 16, 4),
        size=bytes_slider("size", 1000),
    )
    explorer.set(ranks=8, size=5000)
    assert calls == [(4, 1000), (8, 5000)]
    assert explorer.caption == "8 5000"


def test_two_threads_that_move_controls_leave_the_picture_of_the_last_values():
    drawing, second_is_through = threading.Event(), threading.Event()

    def slow(ranks, steps):
        if (ranks, steps) == (5, 0):
            drawing.set()
            second_is_through.wait(0.3)  # a lock lets nobody through meanwhile
        return [f"{ranks} ranks, {steps} steps.", Table({"ranks": str(ranks), "steps": str(steps)}, "computed")]

    explorer = Explorer(slow, ranks=number("ranks", 2, 16, 4), steps=number("steps", 0, 9, 0))
    first = threading.Thread(target=explorer.set, kwargs={"ranks": 5})
    first.start()
    assert drawing.wait(60)
    explorer.controls["steps"].value = 7
    second_is_through.set()
    first.join(60)
    assert explorer.caption == "5 ranks, 7 steps."
    assert "7" in shown(explorer)
    assert "5 ranks, 7 steps." in explorer.words.value
    assert explorer.in_words == "5 ranks, 7 steps. ranks 5, steps 7"


def test_an_error_stands_in_the_place_of_the_pictures_and_goes_away_again():
    def fragile(ranks):
        if ranks == 5:
            raise ValueError("five is <not> allowed")
        return facts(ranks)

    explorer = explorer_of(fragile)
    explorer.set(ranks=5)
    assert 'role="alert"' in shown(explorer)
    assert "This setting has no picture: five is &lt;not&gt; allowed." in shown(explorer)
    assert shown(explorer, 1) == ""
    explorer.set(ranks=6)
    assert "a staircase of 6 steps" in shown(explorer, 1)


def test_an_error_has_a_still_picture_too():
    def broken(ranks):
        raise ValueError("no picture today")

    (still, metadata), *_ = explorer_of(broken).bundles()
    assert "no picture today" in metadata["image/png"]["alt"]
    assert base64.b64decode(still["image/png"]).startswith(b"\x89PNG")


def test_what_is_no_panel_is_refused_with_the_rule():
    explorer = explorer_of(lambda ranks: [new_picture()[0]])
    assert "shows sentences, tables and panels, got Picture" in shown(explorer)


def test_the_collector_rests_while_pictures_are_drawn_and_not_longer():
    seen = []
    frozen = gc.get_freeze_count()
    explorer_of(lambda ranks: seen.append(gc.isenabled()) or "")
    assert (seen, gc.isenabled(), gc.get_freeze_count()) == ([False], True, frozen)


def test_sliders_show_their_values_with_units():
    assert bytes_slider("size", 20_000).label == "20 kB"
    assert seconds_slider("latency", 5e-6).label == "5 µs"
    assert rate_slider("rate", 12.5e9).label == "12.5 GB/s"
    assert menu("who", {"nobody": -1, "rank 0": 0}, -1).label == "nobody"


def test_a_slider_offers_what_was_asked_beside_its_round_values():
    slider = bytes_slider("size", 2**20)
    assert (slider.value, slider.label) == (2**20, "1.05 MB")
    values = [value for _, value in slider.options]
    assert values == sorted(values)


@pytest.mark.parametrize(
    ("make", "rule"),
    [
        (lambda: bytes_slider("size", 10**12), "size must be a whole number from 1 kB to 1 GB, got 1000000000000"),
        (lambda: bytes_slider("size", 0.5), "size must be a whole number from 1 kB to 1 GB, got 0.5"),
        (lambda: bytes_slider("size", "1 MB"), "size must be a whole number from 1 kB to 1 GB, got '1 MB'"),
        (lambda: seconds_slider("latency", math.nan), "latency must be from 1 µs to 10 ms, got nan"),
        (lambda: scale("scale", [1, 2, 4], 3, only=True), "scale must be one of 1, 2, 4, got 3"),
        (lambda: number("ranks", 2, 16, 17), "ranks must be a whole number from 2 to 16, got 17"),
        (lambda: number("ranks", 2, 16, True), "ranks must be a whole number from 2 to 16, got True"),
        (lambda: menu("who", {"nobody": -1}, "nobody"), "who must be one of -1, got 'nobody'"),
        (lambda: menu("who", ["ring", "tree"], "rnig"), "who must be one of 'ring', 'tree', got 'rnig'"),
    ],
)
def test_a_control_that_cannot_stand_where_it_was_asked_to_says_the_rule(make, rule):
    with pytest.raises(ValueError, match=f"^{re.escape(rule)}$"):
        make()


@pytest.mark.parametrize(
    ("setting", "rule"),
    [
        ({"ranks": 99}, "ranks must be a whole number from 2 to 16, got 99"),
        ({"ranks": 3.5}, "ranks must be a whole number from 2 to 16, got 3.5"),
        ({"ranks": "many"}, "ranks must be a whole number from 2 to 16, got &#x27;many&#x27;"),
        ({"ranks": None}, "ranks must be a whole number from 2 to 16, got None"),
        ({"rnaks": 3}, "the controls are ranks, got &#x27;rnaks&#x27;"),
    ],
)
def test_a_wrong_setting_is_told_where_the_pictures_would_be(setting, rule):
    explorer = explorer_of(facts)
    explorer.set(**setting)
    assert explorer.controls["ranks"].value == 4
    assert f"This setting has no picture: {rule}." in shown(explorer)
    assert isinstance(explorer.problem, ValueError)
    explorer.set(ranks=4)
    assert (explorer.problem, explorer.caption) == (None, "4 ranks climb.")


def test_what_does_not_go_with_the_other_settings_is_said_once():
    class Even(Explorer):
        def prepare(self):
            self.controls["steps"].max = self.controls["ranks"].value

    explorer = Even(lambda ranks, steps: "Here.", ranks=number("ranks", 2, 16, 4), steps=number("steps", 0, 16, 9))
    said = "steps: 9 is not possible here, 4 stands in its place. Here."
    assert explorer.caption == said
    explorer.set(ranks=8)
    assert explorer.caption == "Here."
    explorer.set(steps=8, ranks=3)
    assert explorer.caption == "steps: 8 is not possible here, 3 stands in its place. Here."


def test_a_value_that_another_of_the_same_call_makes_possible_is_taken():
    class Even(Explorer):
        def prepare(self):
            self.controls["steps"].max = self.controls["ranks"].value

    explorer = Even(lambda ranks, steps: "Here.", ranks=number("ranks", 2, 16, 4), steps=number("steps", 0, 4, 1))
    explorer.set(ranks=16, steps=12)
    assert explorer.values == {"ranks": 16, "steps": 12}
    assert explorer.caption == "Here."


def test_reset_puts_every_control_back():
    explorer = Explorer(lambda ranks, size: "", ranks=number("ranks", 2, 16, 4), size=bytes_slider("size", 5000))
    before = explorer.values
    explorer.set(ranks=9, size=1_000_000)
    explorer.reset.click()
    assert explorer.values == before


def test_a_moved_control_says_its_name_and_value_to_those_who_listen():
    explorer = explorer_of(facts)
    explorer.controls["ranks"].value = 9
    assert 'data-moved="ranks: 9."' in explorer.words.value


def test_the_letters_in_a_picture_are_not_read_out_beside_its_words():
    assert re.search(r'role="img"[^>]*><g aria-hidden="true">.*<text', shown(explorer_of(staircase)))


def test_text_and_lines_take_the_colors_of_the_theme():
    assert re.search(r"<text[^>]+style=\"fill:var\(--jp-content-font-color", shown(explorer_of(staircase)))


def played():
    """An explorer with steps to play, its slider and its player."""

    class Played(Explorer):
        def __init__(self):
            self.step_slider = step_slider("step", 1, 9)
            self.player = step_player(self.step_slider)
            super().__init__(lambda step: f"Step {step}.", step=self.step_slider)

    explorer = Played()
    slider, play, *_ = explorer.player
    return explorer, slider, play


def test_a_step_that_is_on_its_way_when_playing_is_reset_no_longer_counts():
    explorer, slider, play = played()
    for message in ({"playing": True}, {"value": 2}, {"value": 3}):  # as they come from the page
        play.set_state(message)
    assert explorer.caption == "Step 3."
    explorer.reset.click()
    play.set_state({"value": 4})
    assert (explorer.caption, slider.value, play.value, play.playing) == ("Step 1.", 1, 1, False)
    play.set_state({"value": 0, "playing": False})  # "stop" is no step on its way
    assert explorer.caption == "Step 0."
    play.set_state({"playing": True})
    play.set_state({"value": 2})
    assert explorer.caption == "Step 2."


def test_playing_goes_on_from_where_the_slider_stands_and_stop_goes_back():
    explorer, slider, play = played()
    slider.set_state({"value": 6})
    assert play.value == 6
    play.set_state({"playing": True})
    play.set_state({"value": 9, "playing": False})  # the last step, and the end, in one message
    assert explorer.caption == "Step 9."
    play.set_state({"value": 0, "playing": False})
    assert explorer.caption == "Step 0."
    slider.max = 4
    assert play.max == 4
