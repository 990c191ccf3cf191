"""Chapter 00's new words are on its two pages and in the glossary, and its first page is the easiest of the course."""

import re
from pathlib import Path

import nbformat

NOTEBOOKS = Path(__file__).parents[2] / "notebooks"
LECTURE, MORE = (nbformat.read(NOTEBOOKS / f"00_{name}.ipynb", as_version=4).cells for name in ("orientation", "more"))
TEXT = "\n\n".join(cell.source for cell in [*LECTURE, *MORE] if cell.cell_type == "markdown")
LONGEST_CELL = 15
NEW_WORDS = """
activations, all-reduce, alpha-beta model, backward pass, bandwidth, batch, bubble, collective, communication wall,
communicator, compute wall, data parallelism, deadlock, forward pass, gradient, latency, link, loopback,
memory wall, message, micro-batches, mixed precision, model parallelism, model states, node, optimizer,
oversubscription, pipeline parallelism, point-to-point communication, rank, seed, stage, straggler, tensor parallelism,
timeline, token, training step, update
"""
# Where pages, symptoms and exercises lead.
ANCHORS = {"00_orientation": "one-step, fewer", "00_more": "three-scales, beside-dist, disagree, threads, memory"}


def test_no_cell_is_longer_than_fifteen_lines() -> None:
    code = [cell for cell in LECTURE if cell.cell_type == "code" and "hide-input" not in cell.metadata.get("tags", [])]
    lines = {cell.id: len([line for line in cell.source.splitlines() if line.strip()]) for cell in code}
    assert {name: count for name, count in lines.items() if count > LONGEST_CELL} == {}


def test_every_question_asks_for_a_prediction() -> None:
    for part in TEXT.split("**Question.**")[1:]:
        assert "**Prediction.**" in part, f"no prediction after: {part[:80]!r}"


def test_the_new_words_are_bold_and_in_the_glossary() -> None:
    bold = {word.casefold() for word in re.findall(r"\*\*([^*]+?)\.?\*\*", TEXT)}
    glossary = re.findall(r"^\| \*\*(.+?)\*\*", (NOTEBOOKS / "glossary.md").read_text(encoding="utf-8"), re.MULTILINE)
    words = set(" ".join(NEW_WORDS.split()).split(", "))
    assert words - bold == set()
    terms = [term.casefold() for term in glossary]
    found = {word for word in words for term in terms if term.startswith(word) or word.startswith(term)}
    assert words - found == set()


def test_its_anchors_are_where_they_are_looked_for() -> None:
    for page, names in ANCHORS.items():
        text = (NOTEBOOKS / f"{page}.ipynb").read_text(encoding="utf-8")
        assert [name for name in names.split(", ") if f'<a id=\\"{name}\\">' not in text] == []
