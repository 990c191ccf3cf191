"""`course build`: makes exercises/*.ipynb from solutions/, and packs what grading needs of these.

Byte for byte the same every time.
"""

from __future__ import annotations

import copy
import re
from pathlib import Path
from typing import Any

import click

from course_lib.grading.exercises.sources import FOLDER, PACK, packed

__all__ = ["build", "derive", "derived_text"]

REGION = re.compile(r"^([ \t]*)### BEGIN SOLUTION.*?^[ \t]*### END SOLUTION[^\n]*", re.DOTALL | re.MULTILINE)
STUB = "# TODO: your code here\n{0}raise NotImplementedError"
NOT_FOR_STUDENTS = "solution-only"  # a cell with this tag is left out


class MarkerError(ValueError):
    """BEGIN and END of solution regions do not pair up."""


def derive(notebook: Any) -> Any:
    """The students' version: solution regions become a stub, outputs are cleared, cell ids stay.

    Raises:
        MarkerError: if a marker is left over, so that no solution slips through.
    """
    notebook = copy.deepcopy(notebook)
    notebook.cells = [cell for cell in notebook.cells if NOT_FOR_STUDENTS not in cell.metadata.get("tags", [])]
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.source = REGION.sub(lambda match: match[1] + STUB.format(match[1]), cell.source)
            cell.outputs, cell.execution_count = [], None
        for marker in ("### BEGIN SOLUTION", "### END SOLUTION"):
            if marker in cell.source:
                raise MarkerError(f"cell {cell.get('id')}: {marker!r} without its other half")
    return notebook


def derived_text(path: Path) -> str:
    """The text of the notebook that students get for this solution."""
    import nbformat

    from course_lib.notebooks import normal_text

    try:
        return normal_text(derive(nbformat.read(path, as_version=4)))
    except MarkerError as error:
        raise click.ClickException(f"{path}, {error}") from error


@click.command()
@click.option("--check", is_flag=True, help="Write nothing; fail if an exercise is out of step with its solution.")
@click.option("--solutions", type=click.Path(exists=True, file_okay=False, path_type=Path), default="solutions")
@click.option("--exercises", type=click.Path(file_okay=False, path_type=Path), default="exercises")
def build(check: bool, solutions: Path, exercises: Path) -> None:
    """Make the exercises from the solutions, and pack what the grader needs of them for copies without solutions."""
    stale = []
    for source in sorted(solutions.glob("*.ipynb")):
        target, text = exercises / source.name, derived_text(source)
        if target.exists() and target.read_text(encoding="utf-8") == text:
            continue
        stale.append(target)
        if not check:
            exercises.mkdir(exist_ok=True)
            target.write_text(text, encoding="utf-8")
            click.echo(f"wrote {target}")
    if not check and solutions.resolve() == FOLDER.resolve():
        PACK.write_bytes(packed())
    if check and stale:
        names = ", ".join(map(str, stale))
        raise click.ClickException(f"out of step with solutions/: {names}. `course build` makes them anew.")
