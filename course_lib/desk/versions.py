"""Pages as a desk has them: without outputs, with results folded; and what of a page its author wrote (its version).

By what its author wrote two versions are compared, whatever has been run in them. Folded are code that only draws or
sets up, and each text that tells a result, until its cell has run: plain Markdown, `<details>`, which a click opens in
any editor. In `make lab` it opens by itself once the cell above it has run: see `.jupyterlab/labextensions`. The
course's own pages, and so the book, have no such folds.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from course_lib.desk.cells import source_of, tags_of
from course_lib.desk.files import DeskError
from course_lib.desk.guesses import is_guess, with_places

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


FOLDERS = ("notebooks", "exercises")
WAY_TO_START = "[Start page](../START.md)"


def course_files(course: Path) -> Iterator[Path]:
    """The files of the course that lie on a desk, relative to the course's folder, in order."""
    for folder in FOLDERS:
        for path in sorted((course / folder).rglob("*")):
            inner = path.relative_to(course)
            if path.is_file() and not any(part.startswith((".", "__")) for part in inner.parts):
                yield inner


def course_notebook(path: Path) -> dict[str, Any]:
    """A notebook of the course.

    Raises:
        DeskError: if it is none, as after a merge with conflicts.
    """
    try:
        notebook = json.loads(path.read_text(encoding="utf-8"))
        notebook["cells"][0]["source"]
    except (IndexError, KeyError, TypeError, ValueError) as error:
        raise DeskError(f"{path} cannot be read as a notebook ({error}): what does `git status` say of it?") from error
    return notebook


def bare(path: Path) -> str:
    """The text of a notebook without outputs and counts of runs, in the normal form.

    It has a way to the start page and places for guesses. Folded are results, and code that only draws or sets up.
    """
    notebook = course_notebook(path)
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            cell["outputs"], cell["execution_count"] = [], None
            fold_code(cell)
    first = notebook["cells"][0]
    if first["cell_type"] == "markdown":
        title, _, rest = "".join(first["source"]).partition("\n\n")
        between = " · " if rest.startswith("[") else "\n\n"
        first["source"] = f"{title}\n\n{WAY_TO_START}{between}{rest}".splitlines(keepends=True)
    fold_results(notebook["cells"])
    notebook["cells"] = with_places(notebook["cells"], path.stem)
    return json.dumps(notebook, indent=1, ensure_ascii=False, sort_keys=True) + "\n"


def fingerprint(name: str, text: str) -> str:
    """The same for two versions in which an author wrote the same. Of what is no notebook, every character counts.

    A notebook's author writes cells: their kinds, sources, tags and attached pictures. Guesses are nobody's version.
    """
    cells = _cells(name, text)
    written = (
        text if cells is None else json.dumps([_written(cell) for cell in cells if not is_guess(cell)], sort_keys=True)
    )
    return hashlib.sha256(written.encode("utf-8", "surrogatepass")).hexdigest()


def has_outputs(name: str, text: str) -> bool:
    """Whether a cell of the notebook shows what it did."""
    return any(cell.get("outputs") for cell in _cells(name, text) or [])


def _cells(name: str, text: str) -> list[dict[str, Any]] | None:
    """The cells of a notebook; None if it is none, or cannot be read."""
    if not name.endswith(".ipynb"):
        return None
    try:
        cells = json.loads(text.removeprefix("\ufeff"))["cells"]
        return cells if all(isinstance(cell, dict) for cell in cells) else None
    except (KeyError, RecursionError, TypeError, ValueError):
        return None


def _written(cell: dict[str, Any]) -> list[Any]:
    return [cell.get("cell_type"), source_of(cell), sorted(tags_of(cell)), cell.get("attachments") or {}]
