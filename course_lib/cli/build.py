"""`course build` makes exercises/*.ipynb from solutions/; `course notebooks` executes pages, stored in normal form.

A build is the same byte for byte every time. It also packs what grading needs of the solutions.
"""

from __future__ import annotations

import copy
import re
import sys
import time
from pathlib import Path
from typing import Any

import click
import nbformat

from course_lib.grading.exercises.sources import FOLDER, PACK, packed, points_of
from course_lib.notebooks import departures, execute, normal_text

REGION = re.compile(r"^([ \t]*)### BEGIN SOLUTION.*?^[ \t]*### END SOLUTION[^\n]*", re.DOTALL | re.MULTILINE)
STUB = "# TODO: your code here\n{0}raise NotImplementedError"
SAID_POINTS = re.compile(r"(`, |of the )[\d.]+ points?\b")  # of an exercise, in its own cells
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


def say_points(notebook: Any) -> bool:
    """Let the cells of each exercise say the points that the page's table gives it; whether one said others."""
    cells = {cell.id: cell for cell in notebook.cells if cell.cell_type == "markdown"}
    changed = False
    for letter, points in points_of(cells["title"].source if "title" in cells else "").items():
        said = rf"\g<1>{points:g} point" + ("" if points == 1 else "s")
        for name, cell in cells.items():
            if name == letter or name.startswith(f"{letter}-"):
                before, cell.source = cell.source, SAID_POINTS.sub(said, cell.source)
                changed |= cell.source != before
    return changed


def derived_text(path: Path) -> str:
    """The text of the notebook that students get for this solution."""
    try:
        notebook = nbformat.read(path, as_version=4)
        say_points(notebook)
        return normal_text(derive(notebook))
    except MarkerError as error:
        raise click.ClickException(f"{path}, {error}") from error


@click.command()
@click.option("--check", is_flag=True, help="Write nothing; fail if an exercise is out of step with its solution.")
@click.option("--solutions", type=click.Path(exists=True, file_okay=False, path_type=Path), default="solutions")
@click.option("--exercises", type=click.Path(file_okay=False, path_type=Path), default="exercises")
@click.option(
    "--variant", metavar="SECRET", help="Make other questions instead, drawn from these 16 characters or more."
)
@click.option("--out", type=click.Path(file_okay=False, path_type=Path), default="variants", help="Where variants go.")
def build(check: bool, solutions: Path, exercises: Path, variant: str | None, out: Path) -> None:
    """Make the exercises from the solutions, and pack what the grader needs of them for copies without solutions.

    The points of an exercise stand in the table of its page: text that says others is mended, in the solutions, too.

    With --variant it makes the folder OUT/NAME: exercises of which some ask something else, so that the public answer
    gets no point, and `exercises.zip`, which check and `course grade --variants OUT` need. The same secret gives the
    same files.
    """
    if variant is not None:
        _build_variant(variant, solutions, out)
        return
    stale = []
    for source in sorted(solutions.glob("*.ipynb")):
        stale += _mended_solution(source, check)
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


def _mended_solution(path: Path, check: bool) -> list[Path]:
    """The page, if its text says other points than its table; it is written unless this is only a check."""
    notebook = nbformat.read(path, as_version=4)
    if not say_points(notebook):
        return []
    if not check:
        path.write_text(normal_text(notebook), encoding="utf-8")
        click.echo(f"wrote {path}")
    return [path]


def _build_variant(secret: str, solutions: Path, out: Path) -> None:
    """Write the variant's exercises and its pack, and say which exercises differ and which mistakes they lose."""
    from course_lib.grading.exercises import variants

    try:
        name, chosen = variants.drawn(secret)
        pack, left_out = variants.varied_pack(chosen, name)
        texts = {}
        for source in sorted(solutions.glob("*.ipynb")):
            mine = [one for one in chosen if one.exercise_id[:2] == source.name[:2]]
            page = variants.varied_page(nbformat.read(source, as_version=4), mine, name)
            texts[source.name] = normal_text(derive(page))
    except variants.VariantError as error:
        raise click.ClickException(str(error)) from error
    folder = out / name
    (folder / "exercises").mkdir(parents=True, exist_ok=True)
    for file, text in texts.items():
        (folder / "exercises" / file).write_text(text, encoding="utf-8")
    (folder / "exercises.zip").write_bytes(pack)
    click.echo(f"wrote {folder}: variant {name}, {len(chosen)} exercises ask something else")
    for one in chosen:
        gone = len(left_out[one.exercise_id])
        words = f", without {gone} of its mistakes' sentences" if gone else ""
        click.echo(f"  {one.exercise_id} {one.name}{words}")


# --- `course notebooks`: execute the chapters again, or check that they are stored in normal form.


@click.command()
@click.argument("paths", nargs=-1, type=click.Path(exists=True, path_type=Path))
@click.option("--check", is_flag=True, help="Execute and write nothing; fail where a notebook is not in normal form.")
@click.option("--no-execute", is_flag=True, help="Only write the stored outputs in normal form.")
@click.option("--timeout-s", default=600, show_default=True, help="Seconds that one cell may take.")
def notebooks(paths: tuple[Path, ...], check: bool, no_execute: bool, timeout_s: int) -> None:
    """Execute the notebooks at PATHS (files or folders; default: notebooks/) and store them in normal form.

    The normal form leaves out what differs from run to run: timings, addresses, widget ids, picture metadata.
    """
    found = _expand(paths or (Path("notebooks"),))
    if check:
        sys.exit(_report_departures(found))
    for path in found:
        started_s = time.perf_counter()
        notebook = nbformat.read(path, as_version=4) if no_execute else execute(path, timeout_s=timeout_s)
        path.write_text(normal_text(notebook), encoding="utf-8")
        click.echo(f"{path}: {time.perf_counter() - started_s:.1f} s")


def _expand(paths: tuple[Path, ...]) -> list[Path]:
    found: list[Path] = []
    for path in paths:
        found += sorted(path.glob("*.ipynb")) if path.is_dir() else [path]
    return found


def _report_departures(paths: list[Path]) -> int:
    """Print what is not in normal form and return the exit status."""
    places = {path: departures(path) for path in paths}
    for path, found in places.items():
        for place in found:
            click.echo(f"{path}: {place}")
    if any(places.values()):
        click.echo("`course notebooks --no-execute PATHS` writes them in normal form.")
    return int(any(places.values()))
