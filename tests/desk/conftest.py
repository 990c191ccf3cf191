"""A small course, and a desk of it."""

import json
from pathlib import Path

import pytest

from course_lib.desk import lay

TITLE = "# 01 · Rings\n\n[Chapter 00](00_start.ipynb)\n\nYou need chapter 00 (ranks). More."
TABLE = "# Exercises\n\n| | you write | points |\n|---|---|---:|\n| [a](#a) | a ring | 2 |\n| [b](#b) | a tree | 3 |\n"
COURSE = {
    "notebooks/00_start.ipynb": ["# 00 · Start\n\nHello.", ("1 + 1", 2)],
    "notebooks/01_rings.ipynb": [TITLE, ("ring()", 3)],
    "exercises/01_rings.ipynb": [TABLE, ("def ring(): ...", None)],
}


class Course:
    """A course in a folder of its own, whose pages a test changes, and a student's desk."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.desk = folder / "course", folder / "desk"
        for name, cells in COURSE.items():
            self.write(name, cells)
        (self.folder / "notebooks/glossary.md").write_text("rank: one process\n")

    def write(self, name: str, cells: list) -> None:
        """Write a page of Markdown (texts) and code (pairs of a source and what it gave)."""
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(notebook(cells))

    def lay(self) -> list[str]:
        return lay(self.desk, self.folder)

    def on_desk(self) -> dict[str, str]:
        """The text of every file that a student sees there."""
        files = sorted(path for path in self.desk.rglob("*") if path.is_file())
        names = {path.relative_to(self.desk).as_posix(): path for path in files}
        return {name: path.read_text() for name, path in names.items() if not name.startswith(".desk")}


def notebook(cells: list) -> str:
    """The text of a notebook of these cells."""
    written = []
    for number, cell in enumerate(cells):
        each = {"id": str(number), "metadata": {}}
        if isinstance(cell, str):
            written.append(each | {"cell_type": "markdown", "source": cell.splitlines(keepends=True)})
            continue
        source, gave = cell
        outputs = [{"output_type": "stream", "name": "stdout", "text": [str(gave)]}] * (gave is not None)
        count = 1 if outputs else None
        code = {"cell_type": "code", "source": [source], "outputs": outputs, "execution_count": count}
        written.append(each | code)
    return json.dumps({"cells": written, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}, indent=1)


def sources(text: str) -> list[str]:
    return ["".join(cell["source"]) for cell in json.loads(text)["cells"]]


@pytest.fixture
def course(tmp_path: Path) -> Course:
    return Course(tmp_path)
