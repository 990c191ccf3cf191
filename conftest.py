"""For every part of the tests, doctests and notebooks too: `--times`, the seconds by folder and by chapter, `--by-day`,
without what reads the real clock, and `--second-try`, which runs what failed once more by itself at the end.

A test that then passes does not fail the run, and is named in its last lines. `make test` names those of all its parts
together, from SECOND_TRIES. What fails twice is broken, and so is a run with more than a few failures.
"""

import re
import subprocess
import sys
import zlib
from collections import Counter
from collections.abc import Iterator
from functools import partialmethod
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from jupyter_client.client import KernelClient

SECOND_TRIES = Path(".pytest_cache", "second_tries")
MAX_SECOND_TRIES = 8
SECOND_TRY_S = 900
# What says how tests are chosen, shared out and told of, with its value if it has one: not for a test by itself.
NOT_ALONE = ("-n", "--numprocesses", "--dist", "--maxschedchunk", "-k", "-m", "--maxfail")
NOT_ALONE_FLAGS = ("-x", "--exitfirst", "--times", "--second-try", "--lf", "--ff")

# jsonschema compiles grammars for kinds of text that no notebook has: 1.4 s of each process that imports nbformat.
sys.modules.setdefault("rfc3987_syntax", None)  # type: ignore[arg-type]
# A kernel lives while its process does. The heartbeat's thread once blocked for ever when its channel was closed.
KernelClient.start_channels = partialmethod(KernelClient.start_channels, hb=False)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--times", action="store_true", help="where the time goes: seconds by folder and by chapter")
    parser.addoption("--by-day", action="store_true", help="what `make test` runs: nothing that reads the real clock")
    parser.addoption("--share", default="", metavar="DAY", help="one seventh of the chosen tests, for weekday 1 to 7")
    parser.addoption("--second-try", action="store_true", help="run what failed once more by itself at the end")


def pytest_configure(config: pytest.Config) -> None:
    """Of a page nbval runs what it asserts, too, which stands in tests/claims."""
    if config.getoption("--nbval-lax", default=False) or config.getoption("--nbval", default=False):
        import nbval.plugin
        from nbformat import from_dict

        sys.path.append(str(config.rootpath / "tests" / "notebooks"))
        from sidecars import with_claims

        nbval.plugin.nbformat = SimpleNamespace(read=lambda path, **_: with_claims(Path(path)), from_dict=from_dict)


@pytest.hookimpl(trylast=True)
def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Where no exhaustive test runs, its ten thousand cases are not made: they take seconds in each worker."""
    if re.match(r"not \(.*\bexhaustive\b.*\)$", metafunc.config.option.markexpr):
        short = [call for call in metafunc._calls if not any(mark.name == "exhaustive" for mark in call.marks)]
        metafunc._calls[:] = short or metafunc._calls[:1]  # pytest makes a test of its own where there is none


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """By day no test and no cell of a page asserts what the real clock says: that is how busy a machine is."""
    if day := config.getoption("--share"):
        others = {item for item in items if zlib.crc32(item.nodeid.encode()) % 7 != int(day) % 7}
        config.hook.pytest_deselected(items=[*others])
        items[:] = [item for item in items if item not in others]
    if config.getoption("--last-failed"):
        _only_failed(config, items)
    if not config.getoption("--by-day"):
        return
    by_night = [item for item in items if item.get_closest_marker("clock")]
    config.hook.pytest_deselected(items=by_night)
    items[:] = [item for item in items if item not in by_night]
    for item in items:
        if "clock" in getattr(item, "cell", {}).get("metadata", {}).get("tags", []):
            item.add_marker(pytest.mark.skip(reason="reads the real clock: by night"))
    import by_day  # which stands beside this file, and is for this course's tests alone

    by_day.select(config, items)


def _only_failed(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Of a part in which nothing failed nothing runs, while another part's failures wait; pytest would run it whole."""
    failed = config.cache.get("cache/lastfailed", {}) if config.cache else {}
    if failed and not any(item.nodeid in failed for item in items):
        config.hook.pytest_deselected(items=items[:])
        items.clear()


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    """What the options ask for, of every worker together."""
    if hasattr(config, "workerinput"):  # a worker that tells nobody
        return
    if config.getoption("--second-try"):
        _try_again(terminalreporter, config)
    if config.getoption("--times"):
        _tell_times(terminalreporter)


def _try_again(terminal: Any, config: pytest.Config) -> None:
    """Run each test that failed by itself; if all pass, so does the run. Of a notebook all cells are run."""
    session = terminal._session
    failed = [report for kind in ("failed", "error") for report in terminal.stats.get(kind, [])]
    alone = {report: re.sub(r"(\.ipynb)::.*", r"\1", report.nodeid) for report in failed}
    tests = dict.fromkeys(alone.values())
    broken = any(isinstance(report, pytest.CollectReport) for report in failed)
    if not tests or broken or len(tests) > MAX_SECOND_TRIES or session.shouldfail or session.shouldstop:
        return
    terminal.section("second try")
    options = list(_options_alone(config))
    if not any(option.startswith("--nbval") for option in options):
        options += ["-p", "no:nbval"]  # which would take longer to come than most tests
    passed = [test for test in tests if _passes([*options, test], config.rootpath)]
    for test in tests:
        how = "needed a second try" if test in passed else "failed twice"
        terminal.write_line(f"{how}: {test}")
    for kind in ("failed", "error"):
        terminal.stats[kind] = [report for report in terminal.stats.get(kind, []) if alone[report] not in passed]
    terminal.stats["needed a second try"] = [report for report, test in alone.items() if test in passed]
    if len(passed) == len(tests):
        session.exitstatus = pytest.ExitCode.OK
    if passed:
        named = config.rootpath / SECOND_TRIES
        named.parent.mkdir(exist_ok=True)
        with named.open("a", encoding="utf-8") as file:
            file.writelines(f"{test}\n" for test in passed)


def _options_alone(config: pytest.Config) -> Iterator[str]:
    """The options of this run that are for a test by itself, too."""
    given = iter(config.invocation_params.args)
    for argument in map(str, given):
        if argument in NOT_ALONE:
            next(given, None)
        elif argument not in NOT_ALONE_FLAGS and argument not in config.args and not argument.startswith(NOT_ALONE):
            yield argument


def _passes(arguments: list[str], root: Path) -> bool:
    command = [sys.executable, "-m", "pytest", "-q", *arguments]
    try:
        return subprocess.run(command, cwd=root, timeout=SECOND_TRY_S, capture_output=True).returncode == 0
    except subprocess.TimeoutExpired:
        return False


def _tell_times(terminalreporter: Any) -> None:
    """The seconds of all tests, by folder and by chapter."""
    by_folder, by_chapter = Counter[str](), Counter[str]()
    for report in (report for reports in terminalreporter.stats.values() for report in reports):
        seconds = getattr(report, "duration", None)
        if seconds is not None:
            by_folder["/".join(Path(report.nodeid.split("::")[0]).parts[:2])] += seconds
            chapter = re.search(r"(?<!\d)(0\d|1[0-3])(?:[a-j]\b|_[a-z])", report.nodeid)
            by_chapter[f"exercises and pages of {chapter[1]}" if chapter else "no chapter's number"] += seconds
    for title, times in (("folder", by_folder), ("chapter", by_chapter)):
        terminalreporter.section(f"seconds by {title}")
        for name, seconds in times.most_common():
            terminalreporter.write_line(f"{seconds:7.1f}  {name}")
