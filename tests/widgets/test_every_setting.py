"""Explorers wherever their controls stand: no error, numbers only, soon drawn, and no label on another."""

import pytest

from course_lib.widgets import Explorer, Line, Lines, Table, axis, number

from .every_setting import explorers, faults, faults_of, settings


@pytest.mark.parametrize("name", explorers())
def test_it_shows_what_it_should_at_all_ends_and_a_hundred_settings(name: str) -> None:
    assert faults_of(name, 100) == {}


@pytest.mark.exhaustive
@pytest.mark.timeout(900)
@pytest.mark.parametrize("name", explorers())
def test_it_shows_what_it_should_at_all_pairs_of_ends_and_two_thousand_settings(name: str) -> None:
    assert faults_of(name, 2000, seed=1) == {}


@pytest.mark.parametrize("name", explorers())
def test_at_first_every_control_stands_where_it_was_asked_to(name: str) -> None:
    assert "stands in its place" not in explorers()[name]().caption


def test_explorers_of_the_library_and_of_pages_are_found() -> None:
    assert {"AllReduceExplorer", "MeshExplorer", "StorageExplorer"} <= set(explorers())
    assert any(name.startswith("page 00") for name in explorers())


def test_settings_are_all_ends_then_all_pairs_of_them_then_drawn_ones() -> None:
    few, many = (list(settings(["a", "b", "c"], count, 0)) for count in (10, 30))
    assert few[:6] == many[:6] == [{name: end} for name in "abc" for end in (0.0, 1.0)]
    assert {"a": 0.0, "c": 1.0} in many[6:18]
    assert all(len(setting) == 2 for setting in many[6:18])
    assert (len(few), len(many)) == (10, 30)
    assert all(0 <= share <= 1 for setting in many for share in setting.values())


def of(shown) -> Explorer:
    return Explorer(lambda n: shown, n=number("n", 1, 2, 1))


def bare(**more) -> Lines:
    across = axis("x", [0, 1])
    return Lines(
        title="T", origin="computed", **{"lines": {"l": Line((0, 1), (0, 1))}, "x": across, "y": across, **more}
    )


@pytest.mark.parametrize(
    "shown",
    [
        "It takes nan s.",
        "It is 0.0 times as fast.",
        Table({"loss": "inf"}, "computed"),
        bare(notes={(0.5, 0.4): "one", (0.52, 0.4): "another"}),
        bare(y=axis("y", [1])._replace(ticks={0.5: "half", 0.51: "more"})),
        bare(x=axis("a name that no panel that stands beside another has any room for", [1])),
        3,
    ],
)
def test_what_is_wrong_is_seen(shown) -> None:
    assert faults(of(shown))


@pytest.mark.parametrize(
    "shown", ["Nonetheless it is 0.05 or 0 or 0.0%, by information.", bare(), Table({"a": "1"}, "computed")]
)
def test_what_is_right_is_not_held_against_it(shown) -> None:
    assert faults(of(shown)) == []
