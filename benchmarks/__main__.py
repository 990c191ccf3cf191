"""Measure, print a table, and write it as `benchmarks/results.md` and `benchmarks/results.json`."""

from __future__ import annotations

import json
import os
import platform
from dataclasses import asdict
from pathlib import Path

import click
import torch
from rich.console import Console
from rich.table import Table

from benchmarks import (
    all_reduce,
    checkpointing,
    compression,
    data_parallel,
    decomposition,
    explorers,
    launching,
    mesh,
    parameter_server,
    pipeline,
    precision,
    simulator,
    split_layers,
    storage,
    tests,
)
from benchmarks.row import Row

_SECTIONS = {
    "launching": launching,
    "all-reduce": all_reduce,
    "data parallel": data_parallel,
    "parameter server": parameter_server,
    "split layers": split_layers,
    "pipeline": pipeline,
    "checkpointing": checkpointing,
    "precision": precision,
    "decomposition": decomposition,
    "compression": compression,
    "storage": storage,
    "mesh": mesh,
    "simulator": simulator,
    "explorers": explorers,
    "tests": tests,
}
_TABLE = "## The whole table"
_FOLDER = Path(__file__).parent


@click.command()
@click.option("--only", type=click.Choice(list(_SECTIONS)), multiple=True, help="Measure only these sections.")
def main(only: tuple[str, ...]) -> None:
    """Measure this machine: every section beside its peers in the same run."""
    console, rows = Console(), []
    for name in only or _SECTIONS:
        with console.status(f"measuring: {name}"):
            for row in _SECTIONS[name].measure():
                console.print(f"{row.what}: {row.value:.3g} {row.unit}")
                rows.append(row)
    console.print(_table(rows))
    kept = [] if not only else [row for row in _stored() if row.section not in only]
    _write(sorted([*kept, *rows], key=lambda row: list(_SECTIONS).index(row.section)))


def _cells(row: Row) -> tuple[str, ...]:
    spread = f"{row.spread[0]:.3g} … {row.spread[1]:.3g}"
    verdict = {True: "met", False: "missed", None: ""}[row.met]
    return row.section, row.what, f"{row.value:.3g} {row.unit}", spread, row.goal, verdict


def _table(rows: list[Row]) -> Table:
    table = Table("section", "what", "median", "least … largest", "goal", "", title="measured on this machine")
    for row in rows:
        table.add_row(*_cells(row))
    return table


def _stored() -> list[Row]:
    path = _FOLDER / "results.json"
    if not path.exists():
        return []
    rows = json.loads(path.read_text())["rows"]
    return [Row(**{**row, "spread": tuple(row["spread"])}) for row in rows]


def _write(rows: list[Row]) -> None:
    machine = f"{os.cpu_count()} cores, {platform.system()} {platform.machine()}, Python {platform.python_version()}"
    about = (
        f"Measured on {machine}, torch {torch.__version__}. Ratios come from one run in which both sides took turns."
    )
    written = {"about": about, "rows": [asdict(row) for row in rows]}
    (_FOLDER / "results.json").write_text(json.dumps(written, indent=1, ensure_ascii=False) + "\n")
    lines = ["| section | what | median | least … largest | goal | |", "| --- | --- | --- | --- | --- | --- |"]
    lines += ["| " + " | ".join(_cells(row)) + " |" for row in rows]
    page = _FOLDER / "results.md"
    by_hand = page.read_text(encoding="utf-8").partition(_TABLE)[0]  # the figures that people read, and the misses
    page.write_text(f"{by_hand}{_TABLE}\n\n{about}\n\n" + "\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
