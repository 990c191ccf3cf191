"""`--times` for every part of the tests, doctests and notebooks too: seconds by folder and by chapter."""

import re
from collections import Counter
from functools import partialmethod
from pathlib import Path
from typing import Any

import pytest
from jupyter_client.client import KernelClient

# A kernel lives while its process does. The heartbeat's thread once blocked for ever when its channel was closed.
KernelClient.start_channels = partialmethod(KernelClient.start_channels, hb=False)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--times", action="store_true", help="where the time goes: seconds by folder and by chapter")


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    """With `--times`, the seconds of all tests, of every worker together."""
    if not config.getoption("--times"):
        return
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
