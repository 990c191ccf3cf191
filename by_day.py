"""`--by-day`: what `make test` runs, a fixed sample of all tests, and more of them near a change.

A test that stands in tests/by_day.txt runs with so many of its cases by day: the first, the last and some evenly spread
between them. A test with the number 0, or one marked `slow` that is not listed, runs only in `make test-all`. Any other
test runs with at most MOST cases. Every lecture runs, and of the second pages two near a change. A test *near* a change
runs with up to NEAR times as many; how many times depends on how much changed: a day on which everything changes
costs no more than another.
"""

import ast
import functools
import json
import os
import re
import subprocess
from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parent
MOST_NEAR_PAGES = 2  # beside the lectures
NEAR = 4
NEAR_FILES = 10  # of tests; where more are near, fewer cases of each run
MOST = 12
DAY_S = 24 * 3600
# Each case of these is about another page, row or word, so all of them run.
EACH_CASE_COUNTS = (
    "tests/notebooks",
    "tests/cli",
    "tests/test_",
    "tests/desk",
    "tests/browser",
    "tests/book",
    "course_lib",
)
# Tests that stand in another folder than what they are about.
NEAR_TOO = {
    "course_lib/desk/": ["tests/browser/test_desk.py"],
    "course_lib/widgets/": ["tests/browser/test_explorers.py"],
    "course_lib/draw/panels/": ["tests/widgets"],
    "course_lib/cli/symptom": ["tests/browser/test_symptom_box.py"],
    "book/": ["tests/book", "tests/browser/test_book.py", "tests/browser/test_book_explorers.py"],
    "book/static/symptoms": ["tests/browser/test_symptom_box.py"],
    ".jupyterlab": ["tests/browser/test_reading.py"],
}


def select(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Keep the items that run by day, in their order; the others are deselected."""
    files = changed()
    folders, words = near_folders(files), near_words(files)
    second_pages = [page for page in near_pages(files) if not is_lecture(page)][:MOST_NEAR_PAGES]
    groups = defaultdict[str, list[pytest.Item]](list)
    for item in items:
        groups[item.nodeid.split("[")[0]].append(item)

    def is_near(item: pytest.Item) -> bool:
        path, case = item.nodeid.split("::")[0], item.nodeid.partition("[")[2]
        return is_near_file(path, folders) or case.startswith(tuple(words))

    near = {name: [case for case in cases if is_near(case)] for name, cases in groups.items()}
    times = times_as_many(sum(is_near_file(path, folders) for path in files_of_tests()))
    wanted, chosen = counts(), set[pytest.Item]()
    for name, cases in groups.items():
        if ".ipynb::" in name:
            page = Path(name.split("::")[0])
            runs = page.parts[0] == "notebooks" and (is_lecture(page.stem) or page.stem in second_pages)
            chosen.update(cases if runs else ())
            continue
        if cases[0].get_closest_marker("lectures"):
            chosen.add(cases[made_on_day() % len(cases)])
            continue
        most = wanted.get(name, default_count(name, cases[0]))
        chosen.update(spread(cases, most))
        chosen.update(spread(near[name], round(times * most)) if times > 1 else ())
    config.hook.pytest_deselected(items=[item for item in items if item not in chosen])
    items[:] = [item for item in items if item in chosen]


def is_lecture(page: str) -> bool:
    return not page.endswith("_more")


def is_near_file(path: str, folders: set[str]) -> bool:
    return path in folders or str(Path(path).parent) in folders


def files_of_tests() -> list[str]:
    """All files of tests, whichever of them this part of a run has collected."""
    return [path.relative_to(ROOT).as_posix() for path in (ROOT / "tests").rglob("test_*.py")]


def times_as_many(near_files: int) -> float:
    """How many times as many cases a test near a change runs with.

    >>> [times_as_many(files) for files in (1, 10, 20, 400)]
    [4, 4, 2.0, 1]
    """
    return max(1, NEAR * min(1, NEAR_FILES / max(1, near_files)))


def default_count(name: str, case: pytest.Item) -> int:
    if case.get_closest_marker("slow"):
        return 0
    return 10**6 if name.startswith(EACH_CASE_COUNTS) else MOST


def spread(cases: Sequence[Any], most: int) -> Sequence[Any]:
    """The first, the last and some evenly spread between them.

    >>> [spread(range(7), most) for most in (0, 1, 3, 9)]
    [[], [3], [0, 3, 6], [0, 1, 2, 3, 4, 5, 6]]
    """
    if most == 1 < len(cases):
        return [cases[len(cases) // 2]]
    most = min(most, len(cases))
    return [cases[round(n * (len(cases) - 1) / max(1, most - 1))] for n in range(most)]


def counts() -> dict[str, int]:
    """How many cases of each listed test run by day."""
    lines = (ROOT / "tests" / "by_day.txt").read_text(encoding="utf-8").splitlines()
    return {name: int(number) for number, name in (line.split(None, 1) for line in lines if line and line[0] != "#")}


# What is near a change


def changed() -> set[str]:
    """The files that differ from where this branch left main, or on main itself those of its last day of commits."""
    if os.environ.get("COURSE_BLIND"):  # for trials of the plain sample
        return set()
    head, base = git("rev-parse", "HEAD"), git("merge-base", "HEAD", os.environ.get("COURSE_SINCE", "origin/main"))
    if not base or base == head:
        base = git("rev-list", "-1", f"--before={(made_on_day() - 1) * DAY_S}", "HEAD") or head
    return {
        *git("diff", "--name-only", base).split("\n"),
        *git("ls-files", "--others", "--exclude-standard").split("\n"),
    } - {""}


def made_on_day() -> int:
    """The day of the last commit, counted from 1970."""
    return int(git("log", "-1", "--format=%ct") or 0) // DAY_S


def git(*words: str) -> str:
    """What git prints; nothing where there is no git or no repository."""
    try:
        done = subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True)
    except OSError:
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""


def near_folders(files: Iterable[str]) -> set[str]:
    """The files of tests near a change, and the folders whose own tests are."""
    files = list(files)
    found = {test for each in files for start, tests in NEAR_TOO.items() if each.startswith(start) for test in tests}
    for each in map(Path, files):
        if each.parts[0] == "tests":
            found.add(each.as_posix())
        if each.parts[0] == "course_lib":
            inner = [folder for folder in each.relative_to("course_lib").parents if folder != Path()]
            found |= {f"tests/{folder.as_posix()}" for folder in inner if (ROOT / "tests" / folder).is_dir()}
            found |= {test.relative_to(ROOT).as_posix() for test in (ROOT / "tests").rglob(f"test_{each.stem}.py")}
    return found


def near_words(files: Iterable[str]) -> set[str]:
    """What the name of a case near a change begins with: an exercise, a chapter's number, a page, an explorer."""
    words = set()
    for each in map(Path, files):
        if found := re.fullmatch(r"solutions/exercises/chapter_(\d\d)/(?:([a-z])_)?\w+\.py", each.as_posix()):
            words.add(found[1] + (found[2] or ""))
        if found := re.fullmatch(r"solutions/catalogue/(\d\d[a-z])\.py", each.as_posix()):
            words.add(found[1])
        if found := re.fullmatch(r"(?:solutions|exercises|notebooks)/((\d\d)_\w+)\.ipynb", each.as_posix()):
            words |= {found[1], found[2]}
        if each.parts[:2] == ("course_lib", "widgets") and len(each.parts) > 3:
            words.add("".join(part.title() for part in each.parts[2].split("_")) + "Explorer")
    return words


def near_pages(files: Iterable[str]) -> list[str]:
    """The pages that changed, then those that use most public names of what changed."""
    files = [Path(each) for each in files]
    score = dict[str, float]()
    for page in sorted((ROOT / "notebooks").glob("*.ipynb")):
        words = words_of(page)
        used = sum(
            len(public(ROOT / each) & words) for each in files if each.parts[0] == "course_lib" and each.suffix == ".py"
        )
        score[page.stem] = used + 1000 * (page.relative_to(ROOT) in files)
    return sorted((name for name in score if score[name]), key=lambda name: -score[name])


@functools.cache
def words_of(page: Path) -> set[str]:
    cells = json.loads(page.read_text(encoding="utf-8"))["cells"]
    return {
        word for cell in cells if cell["cell_type"] == "code" for word in re.findall(r"\w+", "".join(cell["source"]))
    }


@functools.cache
def public(path: Path) -> set[str]:
    """The names in a module's `__all__`."""
    if not path.exists():
        return set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "__all__":
            return {each.value for each in ast.walk(node.value) if isinstance(each, ast.Constant)}
    return set()
