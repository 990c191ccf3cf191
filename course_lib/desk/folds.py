"""What a desk folds: code that only draws or sets up, and each text that tells a result, until its cell has run.

A text is folded as plain Markdown, `<details>`: a click opens it in any editor. In `make lab` it opens by itself once
the cell above it has run: see `.jupyterlab/labextensions`. The course's own pages, and so the book, have no such folds.
"""

from __future__ import annotations

import re
from typing import Any

from course_lib.desk.cells import tags_of

__all__ = ["fold_code", "fold_results"]

DRAWS = "hide-input"  # the tag of cells whose code only draws or prints what the text speaks of
SETS_UP, GIVES = "setup", "given"  # tags and ids of an exercise's cells; what is given a student reads
IMPORTS = "imports"  # the id of a chapter's cell of imports
ASKS, QUESTION = "**Prediction.**", "**Question.**"
TELLS = "**What you see.**"
FOLDED = '<details class="result"><summary>Result: {}</summary>\n\n{}\n\n</details>\n\n'
RUN_FIRST, GUESS_FIRST = "run the cell above first", "guess first"
HEADING = re.compile(r"#{1,6} ")


def fold_code(cell: dict[str, Any]) -> None:
    """Fold the source of a cell that only draws or sets up, in JupyterLab's own way."""
    tags, name = tags_of(cell), str(cell.get("id", ""))
    sets_up = name == IMPORTS or (SETS_UP in tags and GIVES not in tags and not name.startswith(GIVES))
    if DRAWS in tags or sets_up:
        cell["metadata"]["jupyter"] = {"source_hidden": True}


def fold_results(cells: list[dict[str, Any]]) -> None:
    """Fold the texts of a page that tell a result: those with "What you see.", and from a question to the next heading
    each that stands right below code or the question. Headings and the next question stay open.
    """
    asked = below_question = below_code = False
    for cell in cells:
        if cell["cell_type"] != "markdown":
            below_code = True
            continue
        text = "".join(cell["source"])
        in_section = asked and not HEADING.match(text)
        if TELLS in text or (in_section and (below_code or below_question)):
            cell["source"] = _folded(text, RUN_FIRST if below_code else GUESS_FIRST).splitlines(keepends=True)
        asked = in_section or ASKS in text
        below_question, below_code = ASKS in text, False


def _folded(text: str, first: str) -> str:
    """This text with its result folded: what stands between its first headings and its next heading or question."""
    paragraphs = _paragraphs(text)
    begins = next((n for n, each in enumerate(paragraphs) if not HEADING.match(each)), len(paragraphs))
    told = next((n for n, each in enumerate(paragraphs) if TELLS in each), begins)
    ends = (n for n, each in enumerate(paragraphs) if n >= told and (HEADING.match(each) or QUESTION in each))
    end = next(ends, len(paragraphs))
    before, after = paragraphs[:begins], paragraphs[end:]
    result = paragraphs[begins:end]
    if not result:
        return text
    return ("\n\n".join([*before, ""]) + FOLDED.format(first, "\n\n".join(result)) + "\n\n".join(after)).rstrip("\n")


def _paragraphs(text: str) -> list[str]:
    """The paragraphs; a block of code or formulas, whatever empty lines it has, is one."""
    found: list[str] = []
    for part in text.split("\n\n"):
        if found and (found[-1].count("```") % 2 or found[-1].count("$$") % 2):
            found[-1] += "\n\n" + part
        else:
            found.append(part)
    return found
