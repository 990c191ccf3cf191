"""What all tests share: a quiet environment, and GPU tests that say why they are skipped."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from filelock import FileLock
from hypothesis import settings

# Submissions that attack the grader: they are read by it, and must never be imported here.
collect_ignore = ["grading/cheats"]

# Test processes share few cores: one thread each is faster than threads that wait for each other.
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("JUPYTER_PREFER_ENV_PATH", "1")

# A shell that starts the tests in the background lets them ignore interrupts, which some of them are about.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

settings.register_profile("course", deadline=None, derandomize=True, print_blob=True)
settings.load_profile("course")


@pytest.fixture(scope="session")
def grader() -> Iterator[Any]:
    """A grader as well protected as a teacher's on this machine; COURSE_SECRET changes what it draws."""
    from course_lib.grading.judge.grader import Grader, Limits
    from course_lib.grading.judge.launcher import Launcher
    from course_lib.grading.judge.protection import LEVELS, best_level

    with Launcher(LEVELS[best_level()]) as launcher:
        limits = Limits(cpu_s=3)  # for an answer that does not end; ten seconds are the students'
        yield Grader(launcher, limits=limits, secret=os.environ.get("COURSE_SECRET", "the same every time").encode())


@pytest.fixture(scope="session")
def values_in_book(pytestconfig: pytest.Config) -> int:
    """How many values of each control the explorers of the tests' book offer."""
    return 2 if pytestconfig.getoption("by_day") else 3


@pytest.fixture(scope="session")
def book(tmp_path_factory: pytest.TempPathFactory, values_in_book: int) -> Path:
    """The book, as `make book` builds it, but its explorers offer few values; one for all workers of a run."""
    here = tmp_path_factory.getbasetemp()
    folder = (here.parent if "PYTEST_XDIST_WORKER" in os.environ else here) / "book"
    with FileLock(f"{folder}.lock"):
        if not (folder / "built").exists():
            settings = ["--quiet", "--fail-on-warning", "--conf-dir", "book", "--doctree-dir", str(folder / "doctrees")]
            settings += ["--jobs", "2", "-D", f"explorers_max_values={values_in_book}"]
            command = [sys.executable, "-m", "sphinx", *settings, ".", str(folder / "pages")]
            built = subprocess.run(command, cwd=Path(__file__).parents[1], capture_output=True, text=True, timeout=800)
            assert built.returncode == 0, built.stderr
            (folder / "built").touch()
    return folder / "pages"


def pytest_report_header() -> str:
    from importlib.metadata import version

    return f"torch {version('torch')}, {os.cpu_count()} cores"


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """How often each claim of the pages held, where tests/notebooks/test_claims.py ran."""
    reports = [report for kind in ("passed", "failed") for report in terminalreporter.stats.get(kind, [])]
    found = [claims for report in reports for name, claims in report.user_properties if name == "claims"]
    if found:
        from claims import Claim, table

        terminalreporter.section("claims of the pages: held, page, cell")
        for line in table(Claim(*claim) for claims in found for claim in claims):
            terminalreporter.write_line(line)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip each `gpu(count)` test for which this machine has too few GPUs."""
    marked = [(item, marker) for item in items if (marker := item.get_closest_marker("gpu"))]
    if not marked:
        return
    import torch

    there = torch.cuda.device_count()
    for item, marker in marked:
        needed = marker.args[0] if marker.args else marker.kwargs.get("count", 1)
        if there < needed:
            item.add_marker(pytest.mark.skip(reason=f"needs {needed} CUDA GPU(s), this machine has {there}"))
