"""What `course new-exercise` and `course new-chapter` begin from: the templates in `skeletons/`, filled in."""

from __future__ import annotations

from pathlib import Path
from string import Template
from typing import Any

import click

__all__ = ["fill", "filled_cells", "new_notebook", "write_new"]

FOLDER = Path(__file__).with_name("skeletons")
MARK = "%% "  # begins a cell: its id, its kind and, after a comma each, its tags


def fill(template: str, **values: object) -> str:
    """The text of a template, with these values in it.

    >>> print(fill("contents.py", number=14, title="A chapter"), end="")
    \"\"\"The exercises of chapter 14: A chapter.\"\"\"
    """
    return Template((FOLDER / f"{template}.txt").read_text(encoding="utf-8")).substitute(values)


def filled_cells(template: str, **values: object) -> list[Any]:
    """The notebook cells of a template.

    >>> [cell.id for cell in filled_cells("exercise_cells", id="04b", letter="b", function="f", title="T", points=3)]
    ['b', 'b-answer', 'b-check-why', 'b-check']
    """
    from nbformat import from_dict

    cells = []
    for part in ("\n" + fill(template, **values)).split("\n" + MARK)[1:]:
        head, _, source = part.partition("\n")
        name, kind, *tags = head.split(" ")
        metadata = {"tags": tags[0].split(",")} if tags else {}
        cell = {"id": name, "cell_type": kind, "metadata": metadata, "source": source.removesuffix("\n")}
        cells.append(from_dict(cell | ({"outputs": [], "execution_count": None} if kind == "code" else {})))
    return cells


def new_notebook(template: str, **values: object) -> str:
    """The text of a notebook of these cells, in normal form."""
    from nbformat import v4

    from course_lib.notebooks import normal_text

    return normal_text(v4.new_notebook(cells=filled_cells(template, **values)))


def write_new(path: Path, text: str) -> bool:
    """Write a file unless there is one, which stays as it is; says what was done."""
    if path.exists():
        click.echo(f"kept  {path}")
        return False
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    click.echo(f"wrote {path}")
    return True
