"""What a page weighs: cells, words, guesses, lines of code, and the minutes that these take a reader or a lecturer.

python tests/notebooks/weight.py notebooks/07*.ipynb    prints a line for each page.
"""

import re
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import nbformat

WORDS_PER_MINUTE = 110
MINUTES_PER_LINE = 8 / 60
MINUTES_PER_GUESS = 1.5
MINUTES_PER_CODE_CELL = 0.4
FOLD = re.compile(r"<details>.*?</details>", re.DOTALL)
GUESS = "**Prediction.**"
DRAWS = "hide-input"


@dataclass(frozen=True)
class Weight:
    """Words in folds, and lines of code that only draws, count half for the minutes.

    Attributes:
        lines: of code, without empty ones; those of cells that only draw count half.
        longest: lines of the longest cell that does not only draw.
        reading_minutes: for somebody who reads, guesses and runs the whole page.
        telling_minutes: for a lecturer who shows the slides.
    """

    cells: int
    words: int
    folded_words: int
    guesses: int
    lines: float
    longest: int
    reading_minutes: float
    telling_minutes: float


def weigh(cells: Iterable[nbformat.NotebookNode]) -> Weight:
    """What these cells of a page weigh."""
    cells = list(cells)
    text = [cell.source for cell in cells if cell.cell_type == "markdown"]
    code = [cell for cell in cells if cell.cell_type == "code"]
    words, folded = (_words(part) for part in ([FOLD.sub("", each) for each in text], FOLD.findall("\n".join(text))))
    guesses = sum(each.count(GUESS) for each in text)
    lines = sum(_lines(cell) / (1 + _draws(cell)) for cell in code)
    minutes = (words + folded / 2) / WORDS_PER_MINUTE + lines * MINUTES_PER_LINE
    return Weight(
        len(cells),
        words,
        folded,
        guesses,
        lines,
        max((_lines(cell) for cell in code if not _draws(cell)), default=0),
        minutes + guesses * MINUTES_PER_GUESS + len(code) * MINUTES_PER_CODE_CELL,
        sum(map(_telling_minutes, filter(_is_told, cells))),
    )


def _is_told(cell: nbformat.NotebookNode) -> bool:
    return cell.metadata.get("slideshow", {}).get("slide_type", "-") not in ("skip", "notes")


def _telling_minutes(cell: nbformat.NotebookNode) -> float:
    if cell.cell_type == "code":
        return MINUTES_PER_CODE_CELL + _lines(cell) * MINUTES_PER_LINE * (not _draws(cell))
    text = FOLD.sub("", cell.source)
    return _words([text]) / WORDS_PER_MINUTE + text.count(GUESS) * MINUTES_PER_GUESS


def _words(texts: Iterable[str]) -> int:
    return sum(len(re.findall(r"[\w'’-]+", text)) for text in texts)


def _lines(cell: nbformat.NotebookNode) -> int:
    return sum(bool(line.strip()) for line in cell.source.splitlines())


def _draws(cell: nbformat.NotebookNode) -> bool:
    return DRAWS in cell.metadata.get("tags", [])


if __name__ == "__main__":
    for path in map(Path, sys.argv[1:]):
        print(f"{path.stem:28} {weigh(nbformat.read(path, as_version=4).cells)}")
