"""The pages as Colab opens them, each with a first cell that fetches the course: `python book/colab.py ADDRESS FOLDER`.

The workflow that publishes the book pushes the folder as the branch `colab`, where the book's buttons lead. So the
pages themselves, their decks and the desks have no such cell. It installs next to nothing: a kernel that already runs
keeps the packages that it has loaded, and Colab's own fit.
"""

import json
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
# What pages import and Colab lacks.
LACKING = "tensorly webdataset"
CELL = """\
# Run this first. It fetches the course and keeps the packages that Colab has.
!git clone --quiet --depth 1 {address} course
%cd -q course
%pip install --quiet {lacking}"""


def with_cell(notebook: dict[str, Any], address: str) -> dict[str, Any]:
    """The notebook with a cell in front that fetches the course from this address."""
    source = CELL.format(address=address, lacking=LACKING).splitlines(keepends=True)
    cell = {"cell_type": "code", "id": "colab", "metadata": {}, "source": source}
    return notebook | {"cells": [cell | {"outputs": [], "execution_count": None}, *notebook["cells"]]}


def write(address: str, out: Path) -> None:
    """Write all lectures and exercises for Colab.

    Raises:
        ValueError: if the address is no place that git can clone from.
    """
    if ":" not in address or any(letter.isspace() or letter in "'\"`$;&|{}" for letter in address):
        raise ValueError(f"the repository's address should be one that git can clone, not {address!r}")
    for folder in ("notebooks", "exercises"):
        (out / folder).mkdir(parents=True, exist_ok=True)
        for page in sorted((ROOT / folder).glob("*.ipynb")):
            notebook = with_cell(json.loads(page.read_text(encoding="utf-8")), address)
            text = json.dumps(notebook, indent=1, ensure_ascii=False)
            (out / folder / page.name).write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    write(sys.argv[1], Path(sys.argv[2]))
