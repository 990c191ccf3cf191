"""A page and what it says, asserted: tests/claims/NN_name.py has the asserts, the tests put them behind their cells.

A file there is Python in blocks, each headed by a line `# after CELL-ID`, or `# after CELL-ID clock` where the block
reads the real clock or how much memory a process holds. A reader of the page meets none of them.
"""

import re
from pathlib import Path
from typing import NamedTuple

import nbformat

ROOT = Path(__file__).parents[2]
HEAD = re.compile(r"^# after (\S+)( clock)?\n", re.MULTILINE)


class Block(NamedTuple):
    """The asserts behind one cell of a page."""

    after: str
    clock: bool
    source: str

    @property
    def id(self) -> str:
        return f"{self.after}{'-clock' * self.clock}-claims"


def sidecar_of(page: Path) -> Path:
    """Where a page's asserts stand."""
    return ROOT / "tests" / "claims" / f"{page.stem}.py"


def blocks_in(text: str) -> list[Block]:
    """The blocks of a file of asserts, in its order.

    >>> blocks_in("# after ring\\nassert ring == 2\\n\\n# after ring clock\\nassert slow\\n")
    [Block(after='ring', clock=False, source='assert ring == 2'), Block(after='ring', clock=True, source='assert slow')]
    """
    _, *parts = HEAD.split(text)
    return [Block(name, bool(clock), source.strip()) for name, clock, source in zip(*[iter(parts)] * 3, strict=True)]


def with_claims(page: Path) -> nbformat.NotebookNode:
    """The page as a notebook, behind each cell its asserts in a cell tagged `claims`, and `clock` where it reads that.

    Raises:
        ValueError: for a block whose cell the page does not have, and for two blocks of a kind behind one cell.
    """
    notebook, sidecar = nbformat.read(page, as_version=4), sidecar_of(page)
    blocks = blocks_in(sidecar.read_text(encoding="utf-8")) if sidecar.exists() else []
    code = {cell.id for cell in notebook.cells if cell.cell_type == "code"}
    if missing := {block.after for block in blocks} - code:
        raise ValueError(
            f"{sidecar.name} has asserts behind {', '.join(sorted(missing))}: {page.name} has no such cell"
        )
    if len({block.id for block in blocks}) < len(blocks):
        raise ValueError(f"{sidecar.name} has two blocks behind one cell")
    cells = []
    for cell in notebook.cells:
        behind = sorted(block for block in blocks if block.after == cell.id)
        cells += [cell, *map(_cell, behind)]
    notebook.cells = cells
    return notebook


def _cell(block: Block) -> nbformat.NotebookNode:
    tags = ["claims", "clock"] if block.clock else ["claims"]
    return nbformat.v4.new_code_cell(block.source, id=block.id, metadata=nbformat.from_dict({"tags": tags}))
