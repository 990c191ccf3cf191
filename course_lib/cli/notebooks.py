"""`course notebooks`: execute the chapters again, or check that they are stored in normal form."""

import sys
import time
from pathlib import Path

import click
import nbformat

from course_lib.notebooks import departures, execute, normal_text

__all__ = ["notebooks"]


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
