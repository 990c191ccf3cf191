"""`--second-try` runs what failed once more by itself: a flaky test is named, a broken one fails the run."""

from pathlib import Path

import pytest
from nbformat import write
from nbformat.v4 import new_code_cell, new_notebook

pytest_plugins = ["pytester"]

CONFTEST = Path(__file__).parents[1] / "conftest.py"
# Passes from its second run on.
FLAKY = """
from pathlib import Path

def test_flaky():
    ran = Path(__file__).with_name("ran")
    before = ran.exists()
    ran.touch()
    assert before, "not yet"
"""
GOOD = """
def test_good():
    pass
"""
BROKEN = """
import pytest

@pytest.mark.parametrize("word", ["a b", "√"])
def test_broken(word):
    assert word == "a b"
"""


@pytest.fixture
def folder(pytester: pytest.Pytester) -> pytest.Pytester:
    pytester.makeconftest(CONFTEST.read_text(encoding="utf-8"))
    pytester.makeini("[pytest]\naddopts = -ra --import-mode=importlib")
    return pytester


def second_tries(folder: pytest.Pytester) -> list[str]:
    file = folder.path / ".pytest_cache" / "second_tries"
    return file.read_text(encoding="utf-8").splitlines() if file.exists() else []


def is_named_and_does_not_fail_the_run(folder: pytest.Pytester, result: pytest.RunResult) -> None:
    assert result.ret == 0
    named = "needed a second try: test_it.py::test_flaky"
    result.stdout.fnmatch_lines(["*not yet*", named, "*1 passed, 1 needed a second try*"])
    assert second_tries(folder) == ["test_it.py::test_flaky"]


def test_a_test_that_passes_at_its_second_try_is_named_and_does_not_fail_the_run(folder) -> None:
    folder.makepyfile(test_it=FLAKY + GOOD)
    is_named_and_does_not_fail_the_run(folder, folder.runpytest_inprocess("--second-try"))


@pytest.mark.exhaustive
def test_so_it_is_with_two_workers(folder) -> None:
    folder.makepyfile(test_it=FLAKY + GOOD)
    options = ["-n", "2", "--dist", "worksteal", "-k", "flaky or good"]
    is_named_and_does_not_fail_the_run(folder, folder.runpytest_subprocess("--second-try", *options))


def test_a_test_that_fails_twice_fails_the_run_beside_one_that_does_not(folder) -> None:
    folder.makepyfile(test_it=FLAKY + BROKEN)
    result = folder.runpytest_inprocess("--second-try")
    assert result.ret == 1
    named = ["needed a second try: *test_flaky", "failed twice: *test_broken*", "FAILED *test_broken*"]
    result.stdout.fnmatch_lines([*named, "*1 failed, 1 passed, 1 needed a second try*"])


@pytest.mark.parametrize(
    ("source", "options"),
    [
        (FLAKY, []),
        (FLAKY, ["--second-try", "-x"]),
        ("import nothing_of_that_name", ["--second-try"]),
        (GOOD + "".join(f"\ndef test_{n}():\n    assert {n} < 0\n" for n in range(9)), ["--second-try"]),
    ],
)
def test_nothing_is_tried_again_unasked_after_a_run_that_stopped_or_where_much_is_broken(
    folder, source, options
) -> None:
    folder.makepyfile(test_it=source)
    result = folder.runpytest_inprocess(*options)
    assert result.ret != 0
    result.stdout.no_fnmatch_line("*second try:*")
    assert second_tries(folder) == []


@pytest.mark.exhaustive
def test_of_a_notebook_all_cells_are_run_again(folder) -> None:
    flaky = "from pathlib import Path\nbefore = Path('ran').exists()\nPath('ran').touch()"
    cells = [new_code_cell(flaky), new_code_cell("assert before"), new_code_cell("1")]
    notebook = new_notebook(cells=cells)
    notebook.metadata["kernelspec"] = {"name": "python3", "display_name": "Python 3 (ipykernel)"}
    write(notebook, folder.path / "page.ipynb")
    result = folder.runpytest_subprocess("--second-try", "--nbval-lax", "-n", "2", "--dist", "loadscope")
    assert result.ret == 0
    result.stdout.fnmatch_lines(["needed a second try: page.ipynb"])
