"""Fixtures of the browser tests: `lab` serves the folder `course`, `open_notebook` opens one of its notebooks.

A test that fails leaves a screenshot in artifacts/browser/.
"""

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from .harness import HOW_TO_INSTALL, NotebookPage, Server, chromium_path, headless_chromium, serve

ARTIFACTS = Path(__file__).parents[2] / "artifacts" / "browser"
PAGES = pytest.StashKey[list[NotebookPage]]()


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    if chromium_path() is None:
        if os.environ.get("CI"):
            pytest.fail(HOW_TO_INSTALL)
        pytest.skip(HOW_TO_INSTALL)
    with headless_chromium() as browser:
        yield browser


@pytest.fixture(scope="session")
def course(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder that JupyterLab serves; tests put their notebooks there."""
    return tmp_path_factory.mktemp("course")


@pytest.fixture(scope="session")
def lab(course: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """One JupyterLab for all tests."""
    with serve(course, tmp_path_factory.mktemp("lab")) as server:
        yield server


@pytest.fixture
def open_notebook(
    request: pytest.FixtureRequest, browser: Browser, lab: Server, course: Path
) -> Iterator[Callable[[Path], NotebookPage]]:
    """Return a function that opens the notebook at a path; all are closed after the test."""
    pages = request.node.stash.setdefault(PAGES, [])

    def start(path: Path) -> NotebookPage:
        pages.append(NotebookPage(browser, lab, str(path.relative_to(course))))
        return pages[-1]

    yield start
    for page in pages:
        page.close()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo) -> Iterator[None]:
    report = yield
    if report.when == "call" and report.failed:
        for index, page in enumerate(item.stash.get(PAGES, [])):
            path = page.screenshot(ARTIFACTS / f"{item.name}-{index}.png")
            report.sections.append(("screenshot", str(path)))
    return report
