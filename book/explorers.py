"""Explorers that move without a kernel: all that each can show is computed here, and a page's script shows it.

A cell that ends in an explorer keeps its still picture, for readers without scripts. Beside it stands a place for the
moving one, which names its file: one script a cell, loaded when the place comes into view. What was computed is kept in
build/explorers, under a hash of all that it came from.

Pictures of two places differ in a few of their elements. So each element is stored once, and a text as the numbers of
its elements: deflate alone finds nothing that is farther back than 32 kB, and a picture of many steps is longer.
"""

import base64
import functools
import hashlib
import json
import os
import re
import sys
import zlib
from concurrent.futures import ProcessPoolExecutor
from html import escape
from pathlib import Path
from typing import Any, NamedTuple

import torch
from docutils import nodes
from sphinx.application import Sphinx

ROOT = Path(__file__).parents[1]
KEPT = ROOT / "build" / "explorers"
FOLDER = "_static/explorers"
MAX_BYTES = 1_500_000  # of a page's explorers together
PIECE = re.compile(r"[^>]+>?|>")
NOT_SHOWN = {"grading", "desk", "cli", "notebooks.py"}  # no explorer draws with these


class Cell(NamedTuple):
    """A cell that ends in an explorer; `before` are the cells of code before it."""

    name: str
    source: str
    before: tuple[str, ...]


@functools.cache
def cells_of(notebook: Path) -> dict[int, Cell]:
    """The explorers of a notebook by the number of their cell."""
    from course_lib.widgets.pages import explorer_cells

    found = explorer_cells(json.loads(notebook.read_text(encoding="utf-8")))
    return {
        number: Cell(f"{notebook.stem}-{number}", source, tuple(before)) for number, (source, before) in found.items()
    }


def packed(cell: Cell, max_values: int | None) -> str:
    """A script that hands over all that an explorer can show, deflated."""
    from course_lib.widgets.pages import explorer_of
    from course_lib.widgets.states import states_of

    states = in_pieces(states_of(explorer_of(cell.source, cell.before), max_values))
    text = json.dumps(states, ensure_ascii=False, separators=(",", ":"))
    data = base64.b64encode(zlib.compress(text.encode(), 9)).decode()
    return f'window.explorerStates("{cell.name}", "{data}");\n'


def in_pieces(states: dict[str, Any]) -> dict[str, Any]:
    """The states with texts as lists of numbers of pieces, which end with an element.

    >>> in_pieces({"texts": ["<p>one</p>", "<p>two</p>"]})
    {'texts': [[0, 1], [0, 2]], 'pieces': ['<p>', 'one</p>', 'two</p>']}
    """
    numbers: dict[str, int] = {}
    texts = [[numbers.setdefault(piece, len(numbers)) for piece in PIECE.findall(text)] for text in states["texts"]]
    return states | {"texts": texts, "pieces": list(numbers)}


def kept(cell: Cell, max_values: int | None, folder: Path = KEPT) -> str:
    """The same, computed only where nothing that it comes from is as it was."""
    packing = Path(__file__).read_text(encoding="utf-8")
    came_from = "\0".join(
        [library(), packing, sys.version, torch.__version__, str(max_values), *cell.before, cell.source]
    )
    kind = f"{cell.name}-{max_values or 'all'}"
    path = folder / f"{kind}-{hashlib.sha256(came_from.encode()).hexdigest()[:16]}.js"
    if not path.exists():
        text = packed(cell, max_values)
        folder.mkdir(parents=True, exist_ok=True)
        for old in folder.glob(f"{kind}-*.js"):
            old.unlink(missing_ok=True)
        beside = path.with_suffix(f".{os.getpid()}")
        beside.write_text(text, encoding="utf-8")
        beside.replace(path)
    return path.read_text(encoding="utf-8")


@functools.cache
def library() -> str:
    """A hash of all code that explorers may use."""
    package = ROOT / "course_lib"
    files = [path for path in package.rglob("*") if path.suffix in {".py", ".js", ".css", ".json"}]
    chosen = sorted(path for path in files if path.relative_to(package).parts[0] not in NOT_SHOWN)
    return hashlib.sha256(b"\0".join(path.read_bytes() for path in chosen)).hexdigest()


def place_explorers(app: Sphinx, doctree: nodes.document) -> None:
    """Beside each still picture of an explorer, a place for the moving one."""
    path = Path(app.env.doc2path(app.env.docname))
    cells = cells_of(path) if path.parent.name == "notebooks" and path.suffix == ".ipynb" else {}
    for block in doctree.findall(nodes.container):
        cell = cells.get(block.get("cell_index", -1))
        outputs = [part for part in block.children if "cell_output" in part.get("classes", [])]
        if cell and outputs and block.get("nb_element") == "cell_code":
            html = f'<div class="moving-explorer" data-states="{escape(cell.name)}"></div>'
            outputs[0].append(nodes.raw("", html, format="html"))


def write_style(app: Sphinx) -> None:
    """Write the style that the explorers' pictures need: which words have room."""
    from course_lib.draw.panels.svg import room_css

    folder = Path(app.outdir) / FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "rooms.css").write_text(room_css(), encoding="utf-8")


def write_explorers(app: Sphinx, problem: Exception | None) -> None:
    """Write the script of each explorer, which pages load when it comes into view."""
    if problem is not None or app.builder.name != "html":
        return
    pages = {path: cells_of(path) for path in sorted((ROOT / "notebooks").glob("*.ipynb"))}
    cells = [cell for found in pages.values() for cell in found.values()][::-1]  # the last chapters' take longest
    make = functools.partial(kept, max_values=app.config.explorers_max_values or None)
    with ProcessPoolExecutor(min(2, os.cpu_count() or 1)) as pool:
        scripts = dict(zip((cell.name for cell in cells), pool.map(make, cells), strict=True))
    folder = Path(app.outdir, FOLDER)
    for old in folder.glob("*.js"):  # of cells that have gone
        old.unlink()
    for name, script in scripts.items():
        (folder / f"{name}.js").write_text(script, encoding="utf-8")
    for path, found in pages.items():
        size = sum(len(scripts[cell.name]) for cell in found.values())
        if size > MAX_BYTES:
            raise ValueError(f"the explorers of {path.name} take {size:,} bytes, more than {MAX_BYTES:,}")


def setup(app: Sphinx) -> dict[str, Any]:
    app.add_config_value("explorers_max_values", 0, "env", int)
    app.connect("builder-inited", write_style)
    app.connect("doctree-read", place_explorers)
    app.connect("build-finished", write_explorers)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
