"""Bytes are counted in one way, decimal, as bandwidths are: a reader can divide the one by the other."""

import re
from pathlib import Path

import nbformat
import pytest

ROOT = Path(__file__).parents[2]
PAGES = sorted(path for folder in ("notebooks", "exercises", "solutions") for path in (ROOT / folder).glob("*.ipynb"))
SOURCES = sorted(path for package in ("draw", "widgets") for path in (ROOT / "course_lib" / package).rglob("*.py"))
OTHER_UNITS = re.compile(r"\b[KMGTP]iB\b|\b(?:kibi|mebi|gibi)bytes?\b|\d KB\b")


def visible(cell):
    """All that a reader sees of a cell: its source, and texts of its outputs, a picture's words among them."""
    yield cell.source
    for output in cell.get("outputs", []):
        yield output.get("text", "")
        yield from (str(text) for kind, text in output.get("data", {}).items() if kind.startswith("text/"))
        yield str(output.get("metadata", {}).get("image/png", {}).get("alt", ""))


@pytest.mark.parametrize("path", PAGES, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_a_page_counts_bytes_in_decimal_units_alone(path):
    cells = nbformat.read(path, as_version=4).cells
    assert {cell.id: found for cell in cells for text in visible(cell) if (found := OTHER_UNITS.findall(text))} == {}


def test_pictures_and_explorers_know_no_other_units():
    assert [str(path) for path in SOURCES if OTHER_UNITS.search(path.read_text())] == []


@pytest.mark.parametrize("text", ["1 KiB", "64 MiB", "in GiB", "a mebibyte", "2.6 KB"])
def test_other_units_are_seen(text):
    assert OTHER_UNITS.search(text)
