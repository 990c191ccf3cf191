"""Chapter 00 keeps the rhythm of the course, and its new words are in the glossary."""

import re
from pathlib import Path

import nbformat

NOTEBOOKS = Path(__file__).parents[2] / "notebooks"
CELLS = nbformat.read(NOTEBOOKS / "00_orientation.ipynb", as_version=4).cells
CODE = [cell for cell in CELLS if cell.cell_type == "code"]
TEXT = "\n\n".join(cell.source for cell in CELLS if cell.cell_type == "markdown")
LONGEST_CELL = 15
NEW_WORDS = """
activations, all-reduce, alpha-beta model, backward pass, bandwidth, batch, bubble, communication wall, communicator,
compute wall, data parallelism, deadlock, forward pass, gradient, latency, link, memory wall, micro-batches,
mixed precision, model parallelism, model states, node, optimizer, parameters, pipeline parallelism,
point-to-point communication, rank, seed, stage, straggler, tensor parallelism, timeline, tokens, trace, training step,
update
"""


def test_no_cell_is_longer_than_fifteen_lines() -> None:
    lines = {cell.id: len([line for line in cell.source.splitlines() if line.strip()]) for cell in CODE}
    assert {name: count for name, count in lines.items() if count > LONGEST_CELL} == {}


def test_every_question_asks_for_a_prediction() -> None:
    for part in TEXT.split("**Question.**")[1:]:
        assert "**Prediction.**" in part, f"no prediction after: {part[:80]!r}"


def test_the_new_words_are_bold_and_in_the_glossary() -> None:
    bold = {word.casefold() for word in re.findall(r"\*\*([^*]+?)\.?\*\*", TEXT)}
    glossary = re.findall(r"^\| \*\*(.+?)\*\*", (NOTEBOOKS / "glossary.md").read_text(encoding="utf-8"), re.MULTILINE)
    words = set(" ".join(NEW_WORDS.split()).split(", "))
    assert words - bold == set()
    assert {word for word in words if not word.startswith(tuple(glossary))} == set()
