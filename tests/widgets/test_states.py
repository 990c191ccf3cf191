"""What is computed for a page without a kernel is what the explorer shows, after whatever moves."""

import json
import random
from pathlib import Path
from typing import ClassVar

import pytest

from course_lib.widgets import Explorer, Table, menu, number, scale
from course_lib.widgets.controls import disable, offered, step_player, step_slider
from course_lib.widgets.pages import explorer_cells, explorer_of
from course_lib.widgets.states import Place, places_of, states_of

from .every_setting import explorers

NOTEBOOKS = Path(__file__).parents[2] / "notebooks"


class Stairs(Explorer):
    """Steps of a staircase of 2 to 4 ranks; a lamp of any color that nobody moves."""

    book_values: ClassVar = {"ranks": [2, 4], "step": None}

    def __init__(self) -> None:
        self.step_slider = step_slider("step", 0, 2)
        self.player = step_player(self.step_slider)
        controls = {"ranks": number("ranks", 2, 4, 2), "color": menu("color", ["red", "blue"], "red")}
        super().__init__(
            lambda ranks, color, step: [f"{step} of {ranks}.", Table({"lamp": color}, "computed")],
            **controls,
            step=self.step_slider,
        )

    def prepare(self) -> None:
        self.step_slider.max = self.controls["ranks"].value
        disable(self.step_slider, self.controls["ranks"].value == 2, "too few")


def shown(explorer: Explorer) -> list[str]:
    return [view.value for view in explorer.views if "explorer-unused" not in view._dom_classes]


def test_places_are_all_that_moves_lead_to_and_each_choice_leads_to_one() -> None:
    places = places_of(Stairs())
    assert sorted(place.words for place in places) == sorted(
        [f"{step} of {ranks}." for ranks in (2, 4) for step in range(ranks + 1)]
    )
    assert places[0].words == "0 of 2."
    assert places[0].offers == {"ranks": ["2", "4"], "step": ["0"]}  # two ranks are too few: it rests
    assert places[places[0].leads["ranks"][1]].offers["step"] == ["0", "1", "2", "3", "4"]
    for place in places:
        assert [places[to].shown["ranks"] for to in place.leads["ranks"]] == ["2", "4"]
        assert [places[to].shown["step"] for to in place.leads["step"]] == place.offers["step"]
    last = next(place for place in places if place.words == "4 of 4.")
    assert places[last.leads["ranks"][0]].words == "2 of 2."  # fewer ranks have fewer steps


def test_a_page_stores_each_text_once_and_says_which_controls_rest() -> None:
    states = states_of(Stairs())
    assert [(each["label"], each["kind"]) for each in states["controls"]] == [
        ("ranks", "slider"),
        ("color", "rest"),
        ("step", "steps"),
    ]
    assert len(states["texts"]) == len(set(states["texts"]))
    tables = {view[0][0] for view in (place["views"] for place in states["places"])}
    assert len(tables) == 1  # the lamp never changes
    assert [states["texts"][place["rest"][0]] for place in states["places"]] == ["red"] * len(states["places"])
    off = {states["texts"][place["words"]][-2]: place["off"][1] for place in states["places"]}
    assert states["texts"][off["2"]] == "too few"
    assert off["4"] == -1


def test_a_place_tells_its_controls_in_their_own_order_whatever_order_the_class_names_them_in() -> None:
    class Turned(Stairs):
        book_values: ClassVar = {"color": None, "step": None, "ranks": [2, 4]}

    states = states_of(Turned())
    offered_by = [list(states["offers"][number]) for number in states["places"][0]["offers"]]
    assert [control["label"] for control in states["controls"]] == ["ranks", "color", "step"]
    assert offered_by == [["2", "4"], ["red", "blue"], ["0"]]


def test_where_a_class_names_no_controls_a_page_moves_them_all() -> None:
    explorer = Explorer(lambda a, b: f"{a} and {b}.", a=number("a", 1, 3, 2), b=scale("b", [0.5, 1.0], 1.0))
    places = places_of(explorer)
    assert len(places) == 6
    assert explorer.caption == places[0].words == "2 and 1.0."  # the explorer stands where it stood


def test_a_value_that_is_not_among_those_that_move_is_offered_where_the_control_stands_there() -> None:
    explorer = Explorer(lambda a: f"{a}.", a=number("a", 1, 9, 5))
    explorer.book_values = {"a": [1, 9]}
    assert [place.offers["a"] for place in places_of(explorer)] == [["1", "5", "9"], ["1", "9"], ["1", "9"]]


def test_a_picture_that_cannot_be_shows_its_error() -> None:
    explorer = Explorer(lambda a: [1 / a and "fine."], a=number("a", 0, 1, 1))
    assert "ZeroDivisionError" in places_of(explorer)[1].views[0][0]


def walk(name: str, places: list[Place], count: int, seed: int) -> None:
    """Move an explorer and follow the same moves from place to place: both show the same."""
    live, place, draw = explorers()[name](), places[0], random.Random(seed)
    for _ in range(count):
        moved = draw.choice([name for name in place.offers if name not in place.disabled])
        choice = draw.randrange(len(place.offers[moved]))
        control = live.controls[moved]
        values = {text: value for value, text in offered(control).items()}
        control.value = values.get(place.offers[moved][choice], place.offers[moved][choice])
        place = places[place.leads[moved][choice]]
        assert live.values == place.values
        assert (live.caption, shown(live)) == (place.words, [html for html, _ in place.views])


@pytest.mark.parametrize("name", explorers())
def test_a_page_shows_what_the_explorer_shows_after_any_moves(name: str) -> None:
    places = places_of(explorers()[name](), max_values=2)
    assert {to for place in places for leads in place.leads.values() for to in leads} == set(range(len(places)))
    walk(name, places, 12, seed=0)


@pytest.mark.exhaustive
@pytest.mark.timeout(900)
@pytest.mark.parametrize("name", explorers())
def test_every_place_of_a_page_shows_what_a_new_explorer_shows_there(name: str) -> None:
    places = places_of(explorers()[name]())
    assert 1 < len(places) < 1000
    walk(name, places, 300, seed=1)


def test_no_explorer_that_a_page_shows_is_passed_over() -> None:
    for path in NOTEBOOKS.glob("[0-9]*.ipynb"):
        cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
        shown = [number for number, cell in enumerate(cells) if "Explorer with " in json.dumps(cell.get("outputs", []))]
        assert shown or path.stem.endswith("_more"), f"{path.stem} shows no explorer"
        assert list(explorer_cells({"cells": cells})) == shown, path.stem


def test_an_explorer_that_a_cell_names_last_is_found() -> None:
    def found(*lines: str) -> list[int]:
        return list(explorer_cells({"cells": [{"cell_type": "code", "source": "\n".join(lines)}]}))

    assert found("mine = StepExplorer(layers=3)", "mine") == [0]
    assert found("mine = StepExplorer()", "mine = 3", "mine") == found("mine = StepExplorer()") == found("mine") == []
    cell = "mine = PipelineExplorer(ranks=3)\nmine"
    assert explorer_of(cell, ["from course_lib.widgets import PipelineExplorer"]).values["ranks"] == 3
