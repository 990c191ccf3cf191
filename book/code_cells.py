"""Code as the book shows it: at most 88 columns, set-up cells folded, and lines that a narrow window breaks neatly.

Pages are written with up to 120 columns, which a column of text beside two sidebars has no room for. So ruff formats
the code again while a page is read; the notebooks stay as they are.
"""

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

from pygments.formatters import HtmlFormatter
from sphinx.application import Sphinx
from sphinx.highlighting import PygmentsBridge

COLUMNS = 88
FORMAT = ("-m", "ruff", "format", "--isolated", "--line-length", str(COLUMNS), "--stdin-filename", "page.ipynb", "-")
NAMED = re.compile(r"cell \[(\d+)\], line \d+")  # an output that names a line of a cell, as the course's `comm` does
SETS_UP = re.compile(r"(import|from) \w")
FOLDED = "hide-input"
CAPTION = {"parameters": "Parameters of this page", "imports": "Set-up: imports"}


def formatted(page: dict[str, Any]) -> dict[str, Any]:
    """The notebook with code of at most 88 columns, where no string is longer; what an output names by line stays."""
    answer = subprocess.run(
        [sys.executable, *FORMAT], input=json.dumps(page), capture_output=True, text=True, encoding="utf-8", check=True
    )
    named = {int(number) for number in NAMED.findall(json.dumps([cell.get("outputs") for cell in page["cells"]]))}
    cells = zip(page["cells"], json.loads(answer.stdout)["cells"], strict=True)
    return page | {"cells": [old if old.get("execution_count") in named else new for old, new in cells]}


def set_up_cells(page: dict[str, Any]) -> Iterator[tuple[dict[str, Any], str]]:
    """The cells that a reader of the book may skip, each with what kind it is: the parameters, the first imports."""
    code = [cell for cell in page["cells"] if cell["cell_type"] == "code"]
    yield from ((cell, "parameters") for cell in code if "parameters" in cell["metadata"].get("tags", []))
    yield from [(cell, "imports") for cell in code if SETS_UP.match("".join(cell["source"]))][:1]


def fold(page: dict[str, Any]) -> dict[str, Any]:
    """The same notebook, in which set-up cells are folded under a caption that says what they are."""
    for cell, kind in set_up_cells(page):
        caption = CAPTION[kind]
        cell["metadata"]["tags"] = [*cell["metadata"].get("tags", []), FOLDED]
        cell["metadata"]["mystnb"] = {"code_prompt_show": caption, "code_prompt_hide": caption}
    return page


def prepare(app: Sphinx, docname: str, source: list[str]) -> None:
    """Format and fold the code of a notebook before it is read."""
    if app.env.doc2path(docname).suffix == ".ipynb":
        source[0] = json.dumps(fold(formatted(json.loads(source[0]))), ensure_ascii=False)


class Lines(HtmlFormatter):
    """Each line is a block that knows its indentation, so that what is broken goes on further in than it began."""

    def _format_lines(self, tokensource: Any) -> Iterator[tuple[int, str]]:
        for kind, line in super()._format_lines(tokensource):
            text = re.sub("<[^>]*>", "", line)
            indented = len(text) - len(text.lstrip(" "))
            yield kind, f'<span class="line" style="--in:{indented}">{line}</span>' if kind else line


def setup(app: Sphinx) -> dict[str, Any]:
    PygmentsBridge.html_formatter = Lines
    app.connect("source-read", prepare)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
