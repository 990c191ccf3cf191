"""Explorers in a browser: from a key pressed on a slider until the pictures have changed."""

from __future__ import annotations

import statistics
import tempfile
from collections.abc import Iterator
from pathlib import Path

import nbformat
from nbformat.v4 import new_code_cell, new_notebook

from benchmarks.row import Row
from course_lib.widgets import EXPLORERS
from tests.browser.harness import NotebookPage, chromium_path, headless_chromium, serve

__all__ = ["measure"]

_MORE = Path(__file__).parents[1] / "notebooks" / "00_more.ipynb"
_KEYS = ("ArrowRight", "ArrowRight", "ArrowRight", "ArrowLeft", "ArrowLeft", "ArrowLeft", "ArrowLeft")


def measure(rounds: int = 2) -> Iterator[Row]:
    """Median and 95th percentile in milliseconds, over every slider of each explorer."""
    if chromium_path() is None:
        return
    with tempfile.TemporaryDirectory() as folder, headless_chromium() as browser:
        home, root = Path(folder, "home"), Path(folder, "root")
        home.mkdir()
        root.mkdir()
        cells = [f"from course_lib.widgets import {name}\n\n{name}()" for name in EXPLORERS]
        notebook = new_notebook(cells=[new_code_cell(source) for source in (*cells, *_memory_explorer())])
        notebook.metadata["kernelspec"] = {"name": "python3", "display_name": "Python 3 (ipykernel)"}
        nbformat.write(notebook, root / "explorers.ipynb")
        with serve(root, home) as server:
            page = NotebookPage(browser, server, "explorers.ipynb")
            page.run_all()
            for place, name in enumerate((*EXPLORERS, "memory explorer of chapter 00")):
                yield from _rows(name, _responses_ms(page, place, rounds))
            page.close()


def _memory_explorer() -> list[str]:
    """The cells of chapter 00's second page that its explorer needs."""
    cells = [cell.source for cell in nbformat.read(_MORE, as_version=4).cells if cell.cell_type == "code"]
    states = next(source for source in cells if "def mixed_precision_states" in source).split("\n\n\n")[0]
    return [
        "from course_lib.draw import format_bytes",
        states,
        next(source for source in cells if "Explorer(" in source),
    ]


def _responses_ms(page: NotebookPage, place: int, rounds: int) -> list[float]:
    explorer = page.page.locator(".explorer").nth(place)
    explorer.scroll_into_view_if_needed()
    sliders = explorer.locator(".noUi-handle[tabindex='0']").all()
    return [
        answer
        for _ in range(rounds)
        for slider in sliders
        for key in _KEYS
        if (answer := page.response_ms(slider, key)) is not None
    ]


def _rows(name: str, answers_ms: list[float]) -> Iterator[Row]:
    spread = min(answers_ms), max(answers_ms)
    count = f"{name}, {len(answers_ms)} keys"
    yield Row("explorers", f"{count}: median", statistics.median(answers_ms), "ms", spread)
    yield Row("explorers", f"{count}: p95", statistics.quantiles(answers_ms, n=20)[-1], "ms", spread, "at most 100")
