"""The bugs can still be planted: what they change is there, and so are the tests that are named beside them."""

from collections import Counter
from pathlib import Path

from by_day import counts
from tests.mutations.planted_bugs import BUGS

ROOT = Path(__file__).parents[2]


def test_forty_bugs_have_names_of_their_own_and_change_something() -> None:
    assert len(BUGS) >= 40
    assert [name for name, count in Counter(bug.id for bug in BUGS).items() if count > 1] == []
    assert [bug.id for bug in BUGS if bug.old == bug.new or not bug.breaks.endswith(".")] == []


def test_what_a_bug_changes_stands_once_in_its_file() -> None:
    found = {bug.id: (ROOT / bug.file).read_text(encoding="utf-8").count(bug.old) for bug in BUGS}
    assert {name: f"{count} times" for name, count in found.items() if count != 1} == {}, "say what it is now"


def test_what_catches_a_bug_is_there() -> None:
    missing = {}
    for bug in BUGS:
        file, _, name = bug.caught_by.partition("::")
        text = (ROOT / file).read_text(encoding="utf-8") if (ROOT / file).is_file() else ""
        if not text or (file.startswith("tests/") and f"def {name.partition('[')[0]}(" not in text):
            missing[bug.id] = bug.caught_by
    assert missing == {}, "name another test that fails with this bug"


def test_none_is_caught_by_a_test_that_make_test_leaves_out() -> None:
    left_out = {name for name, cases in counts().items() if cases == 0}
    assert [bug.id for bug in BUGS if bug.caught_by.partition("[")[0] in left_out] == []
