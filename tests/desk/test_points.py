"""Points stay on the desk as `check` gives them, and never fall; a file that cannot be read stays as it is."""

import json
import threading
from pathlib import Path

import pytest

from course_lib.desk import DeskError, KeptPoints, desk_around, keep, kept_points
from course_lib.grading import check, check_chapter
from course_lib.grading.rehearsal import check as check_module

from .conftest import Course


@pytest.fixture
def desk(course: Course) -> Path:
    course.lay()
    return course.desk


def part(order, rank, world_size):
    """A right answer to 01a."""
    return order.tensor_split(world_size)[rank]


def wrong(*_: object) -> list:
    return []


def test_the_most_stands_and_the_last_is_known(desk: Path) -> None:
    for points in (1, 2, 0):
        keep(desk, {"01a": points})
    keep(desk, {"01b": 3})
    assert kept_points(desk) == {"01a": KeptPoints(2, 0), "01b": KeptPoints(3, 3)}


def test_many_notebooks_at_once_lose_no_point(desk: Path) -> None:
    threads = [threading.Thread(target=keep, args=(desk, {f"01{letter}": 1})) for letter in "abcdefgh"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(kept_points(desk)) == 8


@pytest.mark.parametrize(
    "text",
    [
        "{",
        "[]",
        "[" * 100_000,
        '{"01a": 2}',
        f'{{"01a": {{"most": {10**400}, "last": 1}}}}',
        '{"01a": {"most": null, "last": 1}}',
    ],
)
def test_a_file_that_is_none_of_points_is_named_and_not_overwritten(desk: Path, text: str) -> None:
    file = desk / ".desk/points.json"
    file.write_text(text)
    with pytest.raises(DeskError, match=r"points.json is no file of points"):
        keep(desk, {"01a": 2})
    assert file.read_text() == text


def test_points_that_an_editor_has_saved_in_its_own_encoding_are_kept(desk: Path) -> None:
    keep(desk, {"01a": 2})
    file = desk / ".desk/points.json"
    file.write_bytes(file.read_text().encode("utf-16"))
    assert keep(desk, {"01b": 1}) == {"01a": KeptPoints(2, 2), "01b": KeptPoints(1, 1)}


def test_a_check_on_a_desk_keeps_its_points_and_says_so(desk: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(desk / "exercises")
    check("01a", part)
    report = check("01b", wrong)
    assert report.kept == "Kept on your desk: 2 points in chapter 01 so far."
    assert report.kept in repr(report)
    assert report.kept in report._repr_html_()
    assert kept_points(desk) == {"01a": KeptPoints(2, 2), "01b": KeptPoints(0, 0)}
    page = (desk / "START.md").read_text()
    assert "[a](exercises/01_data_parallelism.ipynb#a)\N{NO-BREAK SPACE}✓ [b]" in page
    assert "\N{NO-BREAK SPACE}0/3 [c]" in page


def unwritten(*_: object) -> None:
    raise NotImplementedError


def test_what_is_not_written_or_has_not_run_keeps_nothing(desk: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    keep(desk, {"01a": 2})
    monkeypatch.chdir(desk / "exercises")
    assert check("01a", unwritten).kept == ""
    check_chapter("01", {})
    assert kept_points(desk) == {"01a": KeptPoints(2, 2)}


def test_a_whole_chapter_is_kept_in_one_go(desk: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []
    monkeypatch.chdir(desk)
    monkeypatch.setattr(check_module, "keep", lambda desk, points: calls.append(points) or {})
    check_chapter("01", {"part": part, "average_gradient": wrong})
    assert calls == [{"01a": 2, "01b": 0}]


def test_without_a_desk_nothing_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert check("01a", part).kept == ""
    assert list(tmp_path.iterdir()) == []
    assert desk_around(tmp_path) is None


def test_a_desk_that_cannot_be_written_does_not_stop_the_check(desk: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (desk / ".desk/points.json").mkdir()
    monkeypatch.chdir(desk)
    report = check("01a", part)
    assert report.kept.startswith("These points could not be kept on your desk: ")
    assert report.ok


def test_the_points_are_plain_json(desk: Path) -> None:
    keep(desk, {"01b": 1.5, "01a": 2})
    assert json.loads((desk / ".desk/points.json").read_text()) == {
        "01a": {"most": 2, "last": 2},
        "01b": {"most": 1.5, "last": 1.5},
    }
